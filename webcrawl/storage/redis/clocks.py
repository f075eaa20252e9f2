"""The clocks that politeness keys share, exact across all processes of a crawl: the server keeps them and its clock
decides.

All of them are in the slot of one shard, since a fetch takes its clocks at once, and are held while its member's
lease there lasts. Times of two processes are never compared: each sends how long ago a fetch ended, and gets back how
long to wait.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webcrawl.politeness.host_record import Pauses
from webcrawl.storage.contract import (
    LeaseValidity,
    RateLimitDenial,
    RateLimitRequest,
    RateLimitReturn,
    uptime,
)
from webcrawl.storage.inspection import Use
from webcrawl.storage.redis.leases import ServerClock, given_time, until
from webcrawl.storage.redis.names import ShardNames
from webcrawl.storage.redis.server import Call, RedisServer
from webcrawl.storage.redis.shard import Shard

_STATE = struct.Struct("<dd")
"""The beginning of a value, see ``lua/clock_state.lua``."""
LOST_SECONDS = 0.5
"""The time after which to request again when our lease has ended: the next heartbeat joins anew."""


async def read_uses(server: RedisServer, names: ShardNames, pauses: Pauses, now: float) -> dict[str, Use]:
    """Return the states of clocks that are held, or were held lately. ``now`` is by the server's clock."""
    values = await server.commands([("GET", names.clock(name)) for name in pauses])
    uses = {}
    for (name, pause), value in zip(pauses.items(), values, strict=True):
        if value:
            at, owed = _STATE.unpack_from(value)
            # The member, without the part that makes it another one at each start, and the ticket.
            holder = value[_STATE.size :].decode("utf-8", "replace").rpartition(" ")[0].rpartition("-")[0]
            free_at = now + max(pause, owed) if holder and at > now else at
            uses[name] = Use(free_at, holder or None)
    return uses


class _Returned(NamedTuple):
    at: float
    """A time of ``uptime``."""
    one: RateLimitReturn


class RedisClocks:
    """A ``ClockStore`` on the server."""

    def __init__(
        self,
        server: RedisServer,
        shard: Callable[[], Shard],
        member: str,
        clock: ServerClock,
        claim_seconds: float,
    ) -> None:
        """``shard()``: the one in whose slot the clocks are. ``claim_seconds``: a claim that is not given back ends
        after this time."""
        self._server = server
        self._shard = shard
        self._member = member
        self._clock = clock
        self._claim_seconds = claim_seconds
        self._open: dict[int, tuple[Pauses, LeaseValidity]] = {}
        self._returned: deque[_Returned] = deque()

    def rest(self, now: float) -> None:
        """Nothing to do: the server keeps the pauses that are owed."""

    async def exchange(
        self, returned: Sequence[RateLimitReturn], wanted: Sequence[RateLimitRequest]
    ) -> list[LeaseValidity | RateLimitDenial]:
        if returned:
            await self._server.call("return_clocks", [self._return_call(lease) for lease in returned])
            at = uptime()
            for lease in returned:
                self._open.pop(lease.ticket, None)
                self._returned.append(_Returned(at, lease))
        if not wanted:
            return []
        sent, shard = uptime(), self._shard()
        calls = [self._claim_call(request.ticket, request.pauses) for request in wanted]
        answers = await self._server.call("claim_clocks", calls)
        return [
            self._answer(request, answer, sent, shard)
            for request, answer in zip(wanted, answers, strict=True)
        ]

    def _answer(
        self, request: RateLimitRequest, answer: Sequence[int | bytes], sent_at: float, shard: Shard
    ) -> LeaseValidity | RateLimitDenial:
        number = int(answer[0])
        if number < 0:
            return RateLimitDenial(next(iter(request.pauses)), LOST_SECONDS)
        if number:
            return RateLimitDenial(list(request.pauses)[number - 1], float(answer[1]))
        validity = LeaseValidity(until(sent_at, self._claim_seconds), others=(shard.validity,))
        self._open[request.ticket] = request.pauses, validity
        return validity

    async def repeat_uncertain(self) -> None:
        """Repeat returns and claims after a start of the server, which may have forgotten its last second."""
        calls = [self._return_call(lease, again=True) for _, lease in self._returned]
        if calls:
            await self._server.call("return_clocks", calls)
        still_open = list(self._open.items())
        claims = [self._claim_call(ticket, pauses, again=True) for ticket, (pauses, _) in still_open]
        answers = await self._server.call("claim_clocks", claims) if claims else []
        for (_, (_, validity)), answer in zip(still_open, answers, strict=True):
            if int(answer[0]):
                # Another process has a clock of it by now.
                validity.until = 0.0

    def forget_durable(self, sent_before: float) -> None:
        """Drop the returns sent before that moment (a time of ``uptime``): the server has them on its disk."""
        while self._returned and self._returned[0].at < sent_before:
            self._returned.popleft()

    def _claim_call(self, ticket: int, pauses: Pauses, *, again: bool = False) -> Call:
        return self._call(ticket, repr(self._claim_seconds), pauses, again=again)

    def _return_call(self, lease: RateLimitReturn, *, again: bool = False) -> Call:
        ago = "" if lease.ended_at is None else repr(max(self._clock() - lease.ended_at, 0.0))
        return self._call(lease.ticket, ago, lease.pauses, again=again)

    def _call(self, ticket: int, seconds: str, pauses: Pauses, *, again: bool) -> Call:
        names = self._shard().names
        args = [given_time(self._clock), self._member, ticket, seconds, int(again)]
        return [*names.fixed, *map(names.clock, pauses)], [*args, *map(repr, pauses.values())]
