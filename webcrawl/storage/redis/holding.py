"""The leases of this process: how keys are leased and released, and how lost answers and a restart of the server are
repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from webcrawl.frontier.queue_head import EVERYTHING
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Unavailable, uptime
from webcrawl.storage.redis.commits import release_calls
from webcrawl.storage.redis.leases import Renewed, ServerClock, given_time, until
from webcrawl.storage.redis.packing import decoded, encoded, position_from, unpack_host
from webcrawl.storage.redis.server import Call, RedisServer
from webcrawl.storage.redis.shard import Shard

FORGETS_SECONDS = 3.0
"""Seconds that a server may forget. With ``appendfsync everysec`` it forgets at most two if it loses its power."""


class Holding:
    """The keys that this process holds in each shard, in agreement with the server.

    Always true between two calls: the server holds no key for us that is not in ``Shard.mine``, but in shards that
    are ``doubtful``; and the keys in ``mine`` are ours until the shard's lease ends. News about keys and queues are
    kept until they are taken (``take_news``), whatever goes wrong in between.
    """

    def __init__(
        self,
        server: RedisServer,
        shards: list[Shard],
        get_shard: Callable[[str], Shard],
        member: str,
        lease_seconds: float,
        clock: ServerClock,
        forgotten: Callable[[], None],
    ) -> None:
        """``shards`` is filled when the crawl is opened. ``forgotten`` is called before anything else learns that a
        server has started: the server may have forgotten its last second."""
        self._server = server
        self._shards = shards
        self._get_shard = get_shard
        self._member = member
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._forgotten = forgotten
        self._looked_at = uptime()
        self._turn = asyncio.Lock()
        """Held for one call at a time that moves keys: an answer that is on its way belongs to the agreement."""
        self.news = Renewed()
        """The news of heartbeats that were not taken yet."""

    async def join(self) -> None:
        """Become a member."""
        async with self._turn:
            for shard, epoch in zip(self._shards, await self._join(self._shards), strict=True):
                shard.epoch = epoch

    async def leave(self) -> None:
        """Give back all keys that are still ours, and end the membership."""
        async with self._turn:
            await self._leave(self._shards)
            for shard in self._shards:
                shard.lose()

    # -- keys --------------------------------------------------------------------------------------------------

    async def return_unknown_keys(self) -> None:
        """Give back keys that the server holds for us in doubtful shards without our knowledge."""
        if any(shard.doubtful for shard in self._shards):
            async with self._turn:
                doubtful = [
                    shard for shard in self._shards if shard.doubtful and not shard.validity.is_over()
                ]
                await self._rejoin(doubtful)

    async def lease(
        self, requests: Sequence[tuple[Shard, Sequence[int]]], now: float
    ) -> list[tuple[Shard, HostRecord]]:
        """Take idle keys: for each shard pairs of level and number."""
        first = [given_time(self._clock), repr(now), self._member]
        calls: list[Call] = [(shard.names.fixed, [*first, *levels]) for shard, levels in requests]
        leased: list[tuple[Shard, HostRecord]] = []
        if not requests:
            return leased
        async with self._turn:
            with _doubtful_unless_done([shard for shard, _ in requests]):
                answers = await self._server.call("lease", calls)
            for (shard, _), (fence, *pairs) in zip(requests, answers, strict=True):
                for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                    record = unpack_host(decoded(key), value).record
                    record.fence = fence
                    shard.mine[record.key] = fence
                    shard.released.pop(record.key, None)
                    leased.append((shard, record))
        return leased

    async def acquire(
        self, shard: Shard, key: str, delay_seconds: float, *, given_up: bool
    ) -> tuple[Shard, HostRecord] | Unavailable:
        """Take one key, whatever its time; one that is given up only with ``given_up``. ``delay_seconds``: of a new
        key."""
        now = repr(self._clock() + self._clock.slack_seconds)
        args = [given_time(self._clock), now, self._member, encoded(key), repr(delay_seconds), int(given_up)]
        async with self._turn:
            with _doubtful_unless_done([shard]):
                [(fence, *value)] = await self._server.call("acquire", [(shard.names.fixed, args)])
            if fence <= 0:
                return Unavailable.GIVEN_UP if fence == -2 else Unavailable.HELD
            record = unpack_host(key, value[0]).record
            record.fence = fence
            shard.mine[key] = fence
            shard.released.pop(key, None)
            return shard, record

    def abandon(self, leased: Sequence[tuple[Shard, HostRecord]]) -> None:
        """Mark keys as unused: the next heartbeat gives them back."""
        for shard, record in leased:
            if shard.mine.get(record.key) == record.fence:
                del shard.mine[record.key]
                shard.doubtful = True

    async def release(self, records: Sequence[HostRecord]) -> None:
        calls = release_calls(records, self._get_shard, self._member, "release", self._clock.slack_seconds)
        async with self._turn:
            await self._server.call("release", calls)
            at = uptime()
            for record in records:
                shard = self._get_shard(record.key)
                if shard.mine.get(record.key) == record.fence:
                    del shard.mine[record.key]
                    shard.released[record.key] = at, record

    # -- renewing ----------------------------------------------------------------------------------------------

    async def renew(self) -> None:
        """Renew every lease. Those that ended, here or there, are lost, and we join anew without them."""
        async with self._turn:
            if uptime() - self._looked_at >= self._lease_seconds / 2:
                # A server that was frozen carries out calls that were given up long before.
                self._looked_at = uptime()
                for shard in self._shards:
                    shard.doubtful = True
            await self._drop_ended()
            again = await self._heartbeat()
            if again:
                await self._rejoin(again)

    def take_news(self) -> Renewed:
        """Return the news since the last call."""
        news, self.news = self.news, Renewed()
        return news

    async def _drop_ended(self) -> None:
        """Give back keys whose leases ended here: there they may go on, and the keys would stay unused."""
        ended = [shard for shard in self._shards if shard.validity.is_over()]
        for shard in ended:
            self.news.lost += shard.lose()
        await self._leave(ended)

    async def _heartbeat(self) -> list[Shard]:
        """Renew the leases and add to the news. Returns the shards that have to be joined again."""
        sent = uptime()
        first = self._first_args()
        calls: list[Call] = [(shard.names.fixed, [*first, *shard.changed_queues]) for shard in self._shards]
        again = []
        self.news.idle = 0
        for shard, (epoch, idle, *marks) in zip(
            self._shards, await self._server.call("heartbeat", calls), strict=True
        ):
            self.news.idle += max(idle, 0)
            shard.changed_queues = marks
            if shard.validity.is_over() or (idle < 0 and epoch == shard.epoch):
                self.news.lost += shard.lose()
                again.append(shard)
            elif idle < 0 or epoch != shard.epoch or shard.doubtful:
                again.append(shard)
            else:
                shard.validity.until = max(shard.validity.until, until(sent, self._lease_seconds))
                self._forget_durable(shard, sent)
            for key, mark in zip(marks[::2], marks[1::2], strict=True):
                place = position_from(mark)
                name = decoded(key)
                self.news.changed_queues[name] = min(place, self.news.changed_queues.get(name, place))
        return again

    @staticmethod
    def _forget_durable(shard: Shard, sent_at: float) -> None:
        """Forget released keys: the server ran until ``sent_at``, and has earlier changes on its disk."""
        if shard.released:
            safe = sent_at - FORGETS_SECONDS
            shard.released = {key: (at, record) for key, (at, record) in shard.released.items() if at > safe}

    async def _rejoin(self, shards: Sequence[Shard]) -> None:
        """Agree anew on the keys that are ours. A server that started may have forgotten everything of its last
        second: the keys it gave us, our commits, and our final records of released keys."""
        epochs = dict(zip(shards, await self._join(shards), strict=True))
        started = [shard for shard in shards if epochs[shard] != shard.epoch]
        if started:
            self.news.forgotten = True
            self._forgotten()
            await self._repeat_final_records(started)
        for shard in started:
            shard.epoch = epochs[shard]
            # The entries of their queues in memory may be more than the server has, or fewer.
            self.news.changed_queues.update(dict.fromkeys(shard.mine, EVERYTHING))

    async def _repeat_final_records(self, shards: Sequence[Shard]) -> None:
        """Repeat the final records of released keys, which were joined as ours."""
        at = uptime()
        records = []
        for shard in shards:
            shard.released = {key: (at, record) for key, (_, record) in shard.released.items()}
            records += [record for _, record in shard.released.values()]
        if records:
            slack = self._clock.slack_seconds
            await self._server.call(
                "release", release_calls(records, self._get_shard, self._member, "again", slack)
            )

    async def _join(self, shards: Sequence[Shard]) -> list[int]:
        """Join ``shards`` as a member with the keys we hold there; those that others hold by now are lost. Returns
        the epochs."""
        sent = uptime()
        first = self._first_args()
        calls: list[Call] = []
        for shard in shards:
            pairs = [part for key, fence in shard.mine.items() for part in (encoded(key), fence)]
            for key, (_, record) in shard.released.items():
                pairs += (encoded(key), record.fence)
            calls.append((shard.names.fixed, [*first, shard.epoch, len(shard.mine), *pairs]))
        epochs = []
        for shard, (epoch, gone, more) in zip(shards, await self._server.call("join", calls), strict=True):
            epochs.append(epoch)
            shard.doubtful = bool(more)
            for name in gone:
                key = decoded(name)
                shard.released.pop(key, None)
                if shard.mine.pop(key, None) is not None:
                    self.news.lost.append(key)
            if shard.validity.is_over():
                # It stays ended: code that relied on it may have released its keys.
                ended = shard.lose()
                self.news.lost += ended
                shard.doubtful = shard.doubtful or bool(ended)
            shard.validity.until = max(shard.validity.until, until(sent, self._lease_seconds))
        return epochs

    async def _leave(self, shards: Sequence[Shard]) -> None:
        args = [repr(self._clock() + self._clock.slack_seconds), self._member]
        left = shards
        while left:
            done = await self._server.call("leave", [(shard.names.fixed, args) for shard in left])
            left = [shard for shard, all_done in zip(left, done, strict=True) if not all_done]

    def _first_args(self) -> list[str]:
        """The first arguments of every operation on leases."""
        now = self._clock() + self._clock.slack_seconds
        return [given_time(self._clock), repr(now), self._member, repr(self._lease_seconds)]


@contextmanager
def _doubtful_unless_done(shards: Sequence[Shard]) -> Iterator[None]:
    """Mark ``shards`` as doubtful, unless all goes well."""
    before = [shard.doubtful for shard in shards]
    for shard in shards:
        shard.doubtful = True
    yield
    for shard, doubtful in zip(shards, before, strict=True):
        shard.doubtful = doubtful
