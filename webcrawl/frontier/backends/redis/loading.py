"""Reading queues: stretches of many at a time, with the robots.txt answers of what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from webcrawl.frontier.backend import Loaded
from webcrawl.frontier.backends.redis.packing import encoded, place_bytes, unpack_entries, unpack_robots
from webcrawl.frontier.backends.redis.seeded import SeededNames
from webcrawl.frontier.backends.redis.server import Call, Server
from webcrawl.frontier.backends.redis.shard import Shard
from webcrawl.frontier.queue_head import Place
from webcrawl.frontier.records import web_origin

Stretch = tuple[str, Place | None, int]
"""Politeness key, the place behind which to begin, number of entries."""

AT_ONCE = 50
"""Queues in one call: less than a millisecond in which the server does nothing else."""

TOGETHER_SECONDS = 0.005
"""How long one that is to be loaded waits for others: a call costs as much as ten queues in it, and news from other
processes make many keys need their queues at once."""


class Loader:
    """Reads queues of keys that are ours."""

    def __init__(self, server: Server, shard_of: Callable[[str], Shard], seeded: SeededNames) -> None:
        self._server = server
        self._shard_of = shard_of
        self._seeded = seeded
        self._waiting: list[tuple[Stretch, asyncio.Future[Loaded]]] = []
        self._task: asyncio.Task[None] | None = None

    async def load(self, key: str, after: Place | None, count: int) -> Loaded:
        """The next entries of one queue, asked for with what others want at the same time."""
        future: asyncio.Future[Loaded] = asyncio.get_running_loop().create_future()
        self._waiting.append(((key, after, count), future))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._load_together())
        return await future

    async def _load_together(self) -> None:
        while self._waiting:
            await asyncio.sleep(TOGETHER_SECONDS)
            together, self._waiting = self._waiting, []
            futures = [future for _, future in together]
            try:
                found = await self.load_all([stretch for stretch, _ in together])
            except Exception as error:
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, loaded in zip(futures, found, strict=True):
                    if not future.done():
                        future.set_result(loaded)

    async def load_all(self, wanted: Sequence[Stretch]) -> list[Loaded]:
        """Stretches of queues, with the robots.txt answers of what is in them, and behind them the hosts that may be
        contacted since the operator named them."""
        parts = _by_shard(wanted, lambda stretch: self._shard_of(stretch[0]))
        calls: list[Call] = []
        for shard, numbers in parts:
            args: list[Any] = []
            for number in numbers:
                key, after, count = wanted[number]
                args += (encoded(key), b"" if after is None else place_bytes(after), count)
            calls.append((shard.names.fixed, args))
        news = self._seeded.question()
        *answers, hosts = await self._server.call("load", calls, then=news)
        self._seeded.answer(news, hosts)
        found = [Loaded([], False, []) for _ in wanted]
        for (_, numbers), answer in zip(parts, answers, strict=True):
            for number, entries, more in zip(numbers, answer[::2], answer[1::2], strict=True):
                found[number].entries = list(unpack_entries(entries, wanted[number][0]))
                found[number].more = bool(more)
        await self._add_robots([key for key, _, _ in wanted], found)
        return found

    async def _add_robots(self, keys: Sequence[str], loaded: Sequence[Loaded]) -> None:
        unknown: list[tuple[Shard, str, str, Loaded]] = []
        for key, one in zip(keys, loaded, strict=True):
            shard = self._shard_of(key)
            known = shard.known_robots(key)
            for origin in sorted({origin for entry in one.entries if (origin := web_origin(entry.url))}):
                if record := known.get(origin):
                    one.robots.append(record)
                else:
                    unknown.append((shard, key, origin, one))
        if not unknown:
            return
        parts = _by_shard(unknown, lambda one: one[0])
        commands = [
            ("HMGET", shard.names.robots, *(encoded(unknown[number][2]) for number in numbers))
            for shard, numbers in parts
        ]
        for (_, numbers), values in zip(parts, await self._server.commands(commands), strict=True):
            for number, value in zip(numbers, values, strict=True):
                if value:
                    shard, key, origin, one = unknown[number]
                    record = unpack_robots(origin, value)
                    shard.keep_robots(key, record)
                    one.robots.append(record)


def _by_shard(things: Iterable[Any], shard_of: Callable[[Any], Shard]) -> list[tuple[Shard, list[int]]]:
    """Numbers of ``things``, dealt out to their shards, ``AT_ONCE`` at most together."""
    current: dict[Shard, list[int]] = {}
    parts: list[tuple[Shard, list[int]]] = []
    for number, thing in enumerate(things):
        shard = shard_of(thing)
        numbers = current.get(shard)
        if numbers is None or len(numbers) >= AT_ONCE:
            numbers = current[shard] = []
            parts.append((shard, numbers))
        numbers.append(number)
    return parts
