"""The list of the crawl's workers with their figures."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from typing import Any

from webcrawl.errors import StartRefused, StorageLost
from webcrawl.storage.contract import BandwidthShare, uptime
from webcrawl.storage.move_mark import MoveMark
from webcrawl.storage.redis.leases import ServerClock, given_time
from webcrawl.storage.redis.names import CrawlNames, RedisOptions
from webcrawl.storage.redis.packing import PROTOCOL, pairs
from webcrawl.storage.redis.server import RedisServer, script
from webcrawl.storage.technology import SCOPE

RELOAD = "look"
"""The name in ``meta`` of the time when the operator last had all workers read their exclusion files."""

MOVE = "move"
"""The name in ``meta`` of the mark of a move of the crawl."""

PASSING = (RELOAD, MOVE)
"""Names in ``meta`` that are not part of the settings that the crawl was begun with."""

SHARE_SECONDS = 10.0
"""Seconds that a share of the bandwidth limit holds; each heartbeat renews it."""
LEAST_SHARE = 0.05
"""The share of a process that needs none, as a part of an equal one: it begins with that when it needs more."""

ALIVE_SECONDS = 10.0
"""A worker that runs, or obeys a stop, sends a heartbeat each second: one that was silent for this long does
neither."""


class WorkerRegistry:
    """The crawl's ``meta`` (the settings it was begun with) and its list of members.

    ``<spider>:meta`` is a HASH of text; ``<spider>:workers`` a HASH from member to a JSON object with ``name``,
    ``protocol``, ``started_at``, ``seen_at`` (epoch seconds), ``lease_seconds``, ``host`` and ``process`` (its
    machine and its number there), ``figures``, and ``exclusions`` if there is a list.
    """

    def __init__(self, server: RedisServer, names: CrawlNames, member: str, options: RedisOptions) -> None:
        self._server = server
        self._names = names
        self._member = member
        self._name = options.worker
        self._arriving = options.arriving
        self._silent_seconds = 2 * options.lease_seconds
        """A member that did not report for this long is gone."""
        self._started_at = 0.0
        self.size = 1
        """Number of members as of the last request."""
        self.rank = 0
        """The number of this process among them, from 0 on."""
        self.live = 1
        """Number of processes that sent a heartbeat in the last seconds, this one included."""
        self.exclusions = ""
        """The version of the exclusion list in force here."""
        self.reload_request = ""
        """The value of ``RELOAD`` in ``meta`` as of the last request."""

    async def begin_crawl(self, values: Mapping[str, str]) -> dict[str, str]:
        """Begin the crawl with ``values`` unless it exists. Returns the settings it was begun with."""
        flat = [part for pair in values.items() for part in pair]
        [answer] = await self._server.commands(
            [("EVAL", script("begin_crawl").text, 1, self._names.meta, *flat)]
        )
        parts = [part.decode("utf-8", "replace") for part in answer]
        return dict(zip(parts[::2], parts[1::2], strict=True))

    async def begin_again(self, values: Mapping[str, str]) -> None:
        """Begin the crawl again: the server may have forgotten the settings that it was begun with.

        :raises StorageLost: another process has begun it with other settings meanwhile
        """
        meta = await self.begin_crawl(values)
        lasting = [name for name in values if name != "crawl" and not name.startswith(SCOPE)]
        if other := [name for name in lasting if meta.get(name) != values[name]]:
            raise StorageLost(
                f"Redis had forgotten the crawl '{self._names.spider}', and another worker began it anew with "
                f"another {other[0]}: {meta.get(other[0])} instead of {values[other[0]]}"
            )

    async def members(self, now: float) -> dict[str, dict[str, Any]]:
        """Return the members that reported lately, this process among them once it reported."""
        [answer] = await self._server.commands([("HGETALL", self._names.workers)])
        reports = {name.decode(): json.loads(text) for name, text in pairs(answer)}
        recent = {
            name: facts
            for name, facts in reports.items()
            if now - float(facts["seen_at"]) < self._silent_seconds
        }
        self.size = max(len(recent), 1)
        self.rank = sum(name < self._member for name in recent)
        others = {name: facts for name, facts in recent.items() if name != self._member}
        self.live = 1 + _count_recent(ALIVE_SECONDS, others, now)
        return recent

    async def agree(self, meta: Mapping[str, str], identity: Mapping[str, str], now: float) -> bool:
        """Check that this process may work with the others. Returns True if it is the first of them.

        :raises StartRefused: the crawl was begun with other settings that must not change
        """
        members = await self.members(now)
        alone = not members
        await self._refuse_moved(meta)
        where = f"the crawl '{self._names.spider}' on Redis at {self._server.address}"
        if meta.get("protocol") != PROTOCOL:
            raise StartRefused(
                f"{where} was begun by a webcrawl with protocol {meta.get('protocol')}, this one speaks "
                f"{PROTOCOL}; use the version that began it, or another database"
            )
        changed: dict[str, str] = {}
        for name, value in identity.items():
            theirs = meta.get(name, value)
            if alone and name.startswith(SCOPE):
                # One that is new since the crawl was begun has no value there yet.
                if meta.get(name) != value:
                    changed[name] = value
                continue
            if theirs == value:
                continue
            plain = name.removeprefix(SCOPE)
            until = " while other workers run" if name.startswith(SCOPE) else ""
            raise StartRefused(
                f"{where} has {plain}={theirs} and cannot be joined with {plain}={value}{until}; "
                f"give {plain}={theirs}, or another database"
            )
        if changed:
            flat = [part for pair in changed.items() for part in pair]
            await self._server.commands([("HSET", self._names.meta, *flat)])
        return alone

    async def _refuse_moved(self, meta: Mapping[str, str]) -> None:
        """:raises StartRefused: the crawl is not here any more, not yet, or is just being moved"""
        where = f"the crawl '{self._names.spider}' on Redis at {self._server.address}"
        if packed := meta.get(MOVE):
            refuse_move(packed, where, self._arriving)
        elif self._arriving:
            raise StartRefused(f"{where} was begun by another process just now")
        [holder] = await self._server.commands([("GET", self._names.moving)])
        if holder:
            to = holder.decode("utf-8", "replace").partition("\n")[0]
            raise StartRefused(f"{where} is being moved to {to}; start it there when scrapy move has ended")

    async def report(self, now: float, figures: Mapping[str, float]) -> None:
        """Publish the figures of this process."""
        self._started_at = self._started_at or now
        facts = {
            "name": self._name,
            "protocol": PROTOCOL,
            "started_at": round(self._started_at, 3),
            "seen_at": round(now, 3),
            "lease_seconds": self._silent_seconds / 2,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "figures": dict(figures),
            **({"exclusions": self.exclusions} if self.exclusions else {}),
        }
        _, reload = await self._server.commands(
            [
                ("HSET", self._names.workers, self._member, json.dumps(facts)),
                ("HGET", self._names.meta, RELOAD),
            ]
        )
        self.reload_request = reload.decode("utf-8", "replace") if reload else ""

    async def leave_moved(self) -> None:
        """End the work of a process that was frozen or cut off while the crawl was moved. :raises StorageLost:"""
        [packed] = await self._server.commands([("HGET", self._names.meta, MOVE)])
        where = f"the crawl '{self._names.spider}' on Redis at {self._server.address}"
        try:
            if packed:
                refuse_move(packed.decode("utf-8", "replace"), where, self._arriving)
        except StartRefused as error:
            raise StorageLost(str(error)) from error

    async def count_before(self, at: float, now: float) -> int:
        """Return the number of other members that run and began before ``at``."""
        members = await self.members(now)
        others = {name: facts for name, facts in members.items() if name != self._member}
        before = {name: facts for name, facts in others.items() if float(facts["started_at"]) < at}
        return _count_recent(ALIVE_SECONDS, before, now)

    async def share(self, now: float, idle: int) -> int | None:
        """Return a fair share of all keys with URLs, ``idle`` of which have no holder, if another worker waits for
        keys."""
        members = await self.members(now)
        others = [facts["figures"] for name, facts in members.items() if name != self._member]
        if not any(figures.get("waiting") for figures in others):
            return None
        held = {name: int(facts["figures"].get("active", 0)) for name, facts in members.items()}
        held.setdefault(self._member, 0)
        return fair_share(self._member, held, idle)

    async def leave(self) -> None:
        await self._server.commands([("HDEL", self._names.workers, self._member)])


class BandwidthShares:
    """The shares of the bandwidth limit, in the HASH ``<spider>:bandwidth``.

    ``lua/share_bandwidth.lua`` changes them in one step: all together never exceed the limit. A share holds for a
    time. That of a process that is gone or frozen stays reserved until it has ended there too.
    """

    def __init__(self, server: RedisServer, names: CrawlNames, member: str, clock: ServerClock) -> None:
        self._server = server
        self._key = names.bandwidth.encode()
        self._member = member
        self._clock = clock
        self._has_share = False

    async def request(self, figures: Mapping[str, float]) -> BandwidthShare | None:
        """Return the share of this process by its figures; None if they name no limit."""
        limit = figures.get("bandwidth_limit", 0.0)
        if limit <= 0:
            await self.leave()
            return None
        self._has_share = True
        ends_at = uptime() + SHARE_SECONDS
        wanted = figures.get("bandwidth_wanted", -1.0)
        args = [given_time(self._clock), self._member, limit, wanted, SHARE_SECONDS, LEAST_SHARE]
        [share] = await self._server.call("share_bandwidth", [([self._key], args)])
        return BandwidthShare(float(share), ends_at)

    async def leave(self) -> None:
        """Give the share back."""
        if self._has_share:
            self._has_share = False
            await self._server.commands([("HDEL", self._key, self._member)])


def refuse_move(packed: str, where: str, arriving: str = "") -> None:
    """:raises StartRefused: a mark of a move says that the crawl cannot go on here. ``arriving``: the mark of the
    move that this process makes"""
    if packed == arriving:
        return
    try:
        mark = MoveMark.read(packed)
    except ValueError as error:
        raise StartRefused(f"{where} has a mark of a move that cannot be read: {error}") from error
    mark.refuse(where)


def fair_share(member: str, held: Mapping[str, int], idle: int) -> int:
    """Return how many keys ``member`` may have when all keys are shared out evenly, at least one.

    ``held``: number of keys by worker; ``idle``: number of keys without a worker. Shares differ by one at most and
    come to all keys, so that no worker is without a key while there are as many keys as workers. The workers that
    have most get the larger shares: as few keys as possible change their worker.
    """
    share, over = divmod(sum(held.values()) + idle, len(held))
    by_most = sorted(held, key=lambda name: (-held[name], name))
    return max(share + (by_most.index(member) < over), 1)


def _count_recent(seconds: float, members: Mapping[str, Mapping[str, Any]], now: float) -> int:
    return sum(now - float(facts["seen_at"]) < seconds for facts in members.values())
