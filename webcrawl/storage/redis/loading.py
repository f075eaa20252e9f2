"""Reading of queues, and moves within them: ``Loader`` reads parts of many queues at a time, with the robots.txt
answers of their entries; ``QueueScanner`` reads all queues, and gives entries other places in them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.contract import Loaded, Move, ScanCursor, ScanResult, uptime
from webcrawl.storage.redis.commits import portions
from webcrawl.storage.redis.packing import (
    decoded,
    encoded,
    pairs,
    position_bytes,
    unpack_entries,
    unpack_robots,
)
from webcrawl.storage.redis.server import Call, RedisServer
from webcrawl.storage.redis.shard import Shard
from webcrawl.storage.redis.shared_parts import SeededNames

if TYPE_CHECKING:
    from webcrawl.storage.redis.workers import WorkerRegistry


Stretch = tuple[str, QueuePosition | None, int]
"""Politeness key, the place behind which to begin, number of entries."""

AT_ONCE = 50
"""Queues in one call: less than a millisecond in which the server does nothing else."""

TOGETHER_SECONDS = 0.005
"""Time that a load waits for others: a call costs as much as ten queues in it, and changes by other processes make
many keys need their queues at once."""


class Loader:
    """Reads queues of keys that this process holds."""

    def __init__(self, server: RedisServer, get_shard: Callable[[str], Shard], seeded: SeededNames) -> None:
        self._server = server
        self._get_shard = get_shard
        self._seeded = seeded
        self._waiting: list[tuple[Stretch, asyncio.Future[Loaded]]] = []
        self._task: asyncio.Task[None] | None = None

    async def load(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        """Load the next entries of one queue, together with other loads of the same time."""
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
                stretches = await self.load_all([stretch for stretch, _ in together])
            except Exception as error:
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, loaded in zip(futures, stretches, strict=True):
                    if not future.done():
                        future.set_result(loaded)

    async def load_all(self, wanted: Sequence[Stretch]) -> list[Loaded]:
        """Load parts of queues, with the robots.txt answers of their entries, and then the hosts that the operator
        named and that may be contacted from now on."""
        parts = _by_shard(wanted, lambda stretch: self._get_shard(stretch[0]))
        calls: list[Call] = []
        for shard, numbers in parts:
            args: list[Any] = []
            for number in numbers:
                key, after, count = wanted[number]
                args += (encoded(key), b"" if after is None else position_bytes(after), count)
            calls.append((shard.names.fixed, args))
        news = self._seeded.news_command()
        *answers, hosts = await self._server.call("load", calls, then=news)
        self._seeded.take_news(news, hosts)
        stretches = [Loaded([], False, []) for _ in wanted]
        for (_, numbers), answer in zip(parts, answers, strict=True):
            for number, entries, more in zip(numbers, answer[::2], answer[1::2], strict=True):
                stretches[number].entries = list(unpack_entries(entries, wanted[number][0]))
                stretches[number].more = bool(more)
        await self._add_robots([key for key, _, _ in wanted], stretches)
        return stretches

    async def _add_robots(self, keys: Sequence[str], loaded: Sequence[Loaded]) -> None:
        unknown: list[tuple[Shard, str, str, Loaded]] = []
        for key, stretch in zip(keys, loaded, strict=True):
            shard = self._get_shard(key)
            known = shard.known_robots(key)
            for origin in sorted({origin for entry in stretch.entries if (origin := entry.origin)}):
                if record := known.get(origin):
                    stretch.robots.append(record)
                else:
                    unknown.append((shard, key, origin, stretch))
        if not unknown:
            return
        parts = _by_shard(unknown, lambda origin: origin[0])
        commands = [
            ("HMGET", shard.names.robots, *(encoded(unknown[number][2]) for number in numbers))
            for shard, numbers in parts
        ]
        for (_, numbers), values in zip(parts, await self._server.commands(commands), strict=True):
            for number, value in zip(numbers, values, strict=True):
                if value:
                    shard, key, origin, stretch = unknown[number]
                    record = unpack_robots(origin, value)
                    shard.keep_robots(key, record)
                    stretch.robots.append(record)


def _by_shard(things: Iterable[Any], get_shard: Callable[[Any], Shard]) -> list[tuple[Shard, list[int]]]:
    """Divide the indices of ``things`` among their shards, ``AT_ONCE`` at most together."""
    current: dict[Shard, list[int]] = {}
    parts: list[tuple[Shard, list[int]]] = []
    for number, thing in enumerate(things):
        shard = get_shard(thing)
        numbers = current.get(shard)
        if numbers is None or len(numbers) >= AT_ONCE:
            numbers = current[shard] = []
            parts.append((shard, numbers))
        numbers.append(number)
    return parts


HOSTS_AT_ONCE = 200
"""Number of records of keys that are read in one step."""


class QueueScanner:
    """Reads queues of keys that this process holds, and its part of the keys that no process holds, by the last list
    of members."""

    def __init__(
        self,
        server: RedisServer,
        shards: Sequence[Shard],
        get_shard: Callable[[str], Shard],
        workers: WorkerRegistry,
        member: str,
    ) -> None:
        self._server = server
        self._shards = shards
        self._get_shard = get_shard
        self._workers = workers
        self._member = member
        self._recent: deque[tuple[float, list[Move]]] = deque()
        """Recent moves that may not be on the server's disk, with the time of ``uptime``."""
        self._doubtful: list[Move] = []
        """Moves made shortly before a server started."""

    async def scan(self, scan_cursor: ScanCursor | None, count: int) -> ScanResult:
        """``scan_cursor``: the number of a shard, the cursor of a scan of its hosts (None at its end), the keys that
        were found and are not read yet, and the progress in the first of these."""
        number, cursor, keys, after = scan_cursor or (0, b"0", (), None)
        if not keys:
            keys, cursor = await self._some_keys(self._shards[number], cursor)
            after = None
        entries: list[UrlEntry] = []
        while keys and len(entries) < count:
            stretch, more = await self._stretch(self._shards[number], keys[0], after, count - len(entries))
            entries += stretch
            after = expected_place(stretch[-1]) if more else None
            keys = keys if more else keys[1:]
        if not keys and cursor is None:
            number, cursor = number + 1, b"0"
        return ScanResult(entries, (number, cursor, keys, after) if number < len(self._shards) else None)

    async def _some_keys(self, shard: Shard, cursor: Any) -> tuple[tuple[bytes, ...], Any]:
        """Return keys with URLs that this process is to read, and where to go on."""
        [(cursor, answer)] = await self._server.commands(
            [("HSCAN", shard.names.hosts, cursor, "COUNT", HOSTS_AT_ONCE)]
        )
        keys = sorted(key for key, value in pairs(answer) if any(value[:4]) and self._is_ours(shard, key))
        if keys:
            [held] = await self._server.commands([("HMGET", shard.names.held, *keys)])
            keys = [
                key
                for key, holder in zip(keys, held, strict=True)
                if holder is None or decoded(key) in shard.mine
            ]
        return tuple(keys), cursor if int(cursor) else None

    def _is_ours(self, shard: Shard, key: bytes) -> bool:
        """Return True if this process holds the key, or is to read it if no process holds it."""
        return decoded(key) in shard.mine or crc32(key) % self._workers.size == self._workers.rank

    async def _stretch(
        self, shard: Shard, key: bytes, after: QueuePosition | None, count: int
    ) -> tuple[list[UrlEntry], bool]:
        args = [key, b"" if after is None else position_bytes(after), count]
        [(entries, more)] = await self._server.call("load", [(shard.names.fixed, args)])
        return list(unpack_entries(entries, decoded(key))), bool(more)

    def forget(self) -> None:
        """Note that a server has started: it may have forgotten the last moves."""
        self._doubtful += [move for _, moves in self._recent for move in moves]
        self._recent.clear()

    def forget_durable(self, before: float) -> None:
        """Forget the moves made ``before`` (see ``uptime``): the server has them on its disk."""
        while self._recent and self._recent[0][0] < before:
            self._recent.popleft()

    async def repeat_doubtful(self) -> None:
        """Repeat moves that the server may have forgotten. A page is settled by its place, so this comes before
        that."""
        if again := list(self._doubtful):
            await self._move(again)
            del self._doubtful[: len(again)]

    async def move(self, moves: Sequence[Move]) -> list[Move]:
        """Move entries. Returns those that were moved. :raises webcrawl.errors.StorageFull: some of them may have
        been"""
        await self.repeat_doubtful()
        return await self._move(moves)

    async def _move(self, moves: Sequence[Move]) -> list[Move]:
        # Before the call is sent: its answer may be lost.
        self._recent.append((uptime(), list(moves)))
        portions_of_moves = portions(moves, lambda move: move.entry.key, self._get_shard)
        calls: list[Call] = []
        for portion in portions_of_moves:
            args: list[Any] = [self._member]
            for key, members in portion.keys.items():
                fence = members[0].fence
                places = b"".join(
                    position_bytes(expected_place(move.entry)) + position_bytes(move.new_position)
                    for move in members
                )
                args += (encoded(key), b"" if fence is None else fence, places)
            calls.append((portion.shard.names.fixed, args))
        moved: list[Move] = []
        for portion, fates in zip(portions_of_moves, await self._server.call("move", calls), strict=True):
            moved += [move for move, fate in zip(portion.in_order(), fates, strict=True) if fate == 49]
        return moved
