"""Tables in Redis, shared by all processes of a crawl. The names are in the head of ``lua/table.lua``."""

from __future__ import annotations

import asyncio
import math
import struct
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.errors import StorageAway
from webcrawl.storage.redis.names import ShardNames, TableNames, shard_number
from webcrawl.storage.redis.packing import decoded, encoded, pairs
from webcrawl.storage.redis.server import raise_first
from webcrawl.storage.tables import HEADER, Change, DuePartition, Row, RowId, TableSpec, TableStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.storage.redis.server import RedisServer

PARTITIONS_COUNTED = 1000
"""Due partitions of a shard of which the due rows are counted; as many again of those that have a ``not_before``."""
ROWS_AT_ONCE = 500
"""Rows in one call of a script, which keeps the server from all others."""

_TIME = struct.Struct("<d")
_NO_TIME = _TIME.pack(math.nan)


class _Sender:
    """Sends the calls of all tables in the order in which they were made. Those that are made while others are under
    way are sent together: an exchange costs more than its rows."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._waiting: list[tuple[Sequence[tuple[Any, ...]], asyncio.Future[list[Any]]]] = []
        self._is_busy = False
        self._rest: asyncio.Task[None] | None = None

    async def send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answers of all commands."""
        if not commands:
            return []
        if self._is_busy:
            answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
            self._waiting.append((commands, answer))
            answers = await answer
        else:
            self._is_busy = True
            try:
                # Calls that others make in this turn of the event loop go along.
                await asyncio.sleep(0)
                answers = await self._exchange(commands)
            finally:
                self._go_on()
        raise_first(answers)
        return answers

    async def _exchange(self, commands: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Send these commands and all that wait. Return the answers to these."""
        group, self._waiting = self._waiting, []
        try:
            answers = await self._server.send(
                [*commands, *(command for some, _ in group for command in some)]
            )
        except BaseException as error:
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(
                        error if isinstance(error, Exception) else StorageAway("Redis was not waited for")
                    )
            raise
        at = len(commands)
        for some, answer in group:
            if not answer.done():
                answer.set_result(answers[at : at + len(some)])
            at += len(some)
        return answers[: len(commands)]

    def _go_on(self) -> None:
        self._is_busy = bool(self._waiting)
        if self._is_busy:
            self._rest = asyncio.get_running_loop().create_task(self._send_rest())

    async def _send_rest(self) -> None:
        try:
            while self._waiting:
                with suppress(Exception):  # the callers get it
                    await self._exchange()
        finally:
            self._is_busy = False


class RedisTable:
    """A ``Table`` of a crawl in Redis."""

    def __init__(
        self,
        server: RedisServer,
        sender: _Sender,
        spec: TableSpec,
        shards: Callable[[], Sequence[TableNames]],
    ) -> None:
        """``shards()``: the table's names in each shard, once the crawl is open."""
        self._server = server
        self._send = sender.send
        self._shards = shards
        self._spec = spec
        self._is_timed = spec.is_timed
        self._letters = "t" * spec.is_timed + "o" * spec.is_ordered

    async def get(self, ids: Sequence[RowId]) -> list[Row | None]:
        by_name: dict[bytes, tuple[list[int], list[bytes]]] = {}
        for at, row_id in enumerate(ids):
            name, field = self._place(*row_id)
            places, fields = by_name.setdefault(name, ([], []))
            places.append(at)
            fields.append(field)
        answers = await self._send([("HMGET", name, *fields) for name, (_, fields) in by_name.items()])
        rows: list[Row | None] = [None] * len(ids)
        for (places, _), values in zip(by_name.values(), answers, strict=True):
            for at, value in zip(places, values, strict=True):
                if value is not None:
                    rows[at] = self._row(ids[at].id, value)
        return rows

    async def add(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        if self._letters:
            return await self._put("add", rows)
        commands: list[tuple[Any, ...]] = []
        for partition, row in rows:
            name, field = self._place(partition, row.id)
            commands += (("HSETNX", name, field, row.value), ("HGET", name, field))
        answers = await self._send(commands)
        values = [None if new else value for new, value in zip(answers[::2], answers[1::2], strict=True)]
        # Rows that were stored, and deleted by another process before they could be read.
        lost = [at for at, value in enumerate(values) if value is None and not answers[2 * at]]
        if lost:
            for at, value in zip(lost, await self.add([rows[at] for at in lost]), strict=True):
                values[at] = value
        return values

    async def swap(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        return await self._put("swap", rows)

    async def _put(self, mode: str, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        grouped: dict[bytes | str, tuple[list[int], list[bytes]]] = {}
        for at, (partition, row) in enumerate(rows):
            name, field = self._place(partition, row.id)
            # Rows of a plain table have no key of their partition, and go together.
            places, args = grouped.setdefault(partition if self._letters else name, ([], []))
            places.append(at)
            args += (field, self._value(row))
        answered = [at for places, _ in grouped.values() for at in places]
        answers = await self._send(
            [
                self._putting(mode, group, args[first : first + 2 * ROWS_AT_ONCE])
                for group, (_, args) in grouped.items()
                for first in range(0, len(args), 2 * ROWS_AT_ONCE)
            ]
        )
        values: list[bytes | None] = [None] * len(rows)
        for at, value in zip(answered, (value for answer in answers for value in answer), strict=True):
            values[at] = value
        return values

    def _putting(self, mode: str, group: bytes | str, args: Sequence[bytes]) -> tuple[Any, ...]:
        if isinstance(group, bytes):
            return self._server.calling("table_swap", ([group], args))
        return self._calling("table_put", group, mode, *args)

    async def update(self, changes: Sequence[Change]) -> list[bool]:
        commands = [self._changing(change) for change in changes]
        answers = await self._send(commands)
        return [
            bool(answer) or command[0] == "HSET" for command, answer in zip(commands, answers, strict=True)
        ]

    def _changing(self, change: Change) -> tuple[Any, ...]:
        partition = encoded(change.partition)
        if not self._letters and _only_puts(change):
            put = [part for row in change.put for part in (_field(row.id, partition), row.value)]
            return ("HSET", self._names_in(change.partition).rows, *put)
        absent: list[bytes] = []
        expected: list[bytes] = []
        for row_id, value in change.expected.items():
            field = _field(row_id, partition)
            if value is None:
                absent.append(field)
            else:
                expected += (field, value)
        deleted = [_field(row_id, partition) for row_id in change.delete]
        put = [part for row in change.put for part in (_field(row.id, partition), self._value(row))]
        numbers = (len(absent), len(expected) // 2, len(deleted))
        rest = (*numbers, *absent, *expected, *deleted, *put)
        return self._calling("table_update", change.partition, _not_before(change.not_before), *rest)

    async def scan(
        self, partition: str, most: int, after: bytes = HEADER, before: bytes | None = None
    ) -> list[Row]:
        until = b"+" if before is None else b"(" + before
        names = self._names_in(partition)
        command = self._reading(partition, names.ids, "ZRANGEBYLEX", b"(" + after, until, most)
        [answer] = await self._send([command])
        return self._rows(answer)

    async def due_partitions(
        self, now: float, most: int, after: DuePartition | None = None
    ) -> list[DuePartition]:
        least = "-inf" if after is None else repr(after.at)
        partitions: list[DuePartition] = []
        passed = dict.fromkeys((names.due for names in self._shards()), 0) if most > 0 else {}
        while passed:
            answers = await self._send(
                [
                    ("ZRANGEBYSCORE", name, least, repr(now), "WITHSCORES", "LIMIT", count, most)
                    for name, count in passed.items()
                ]
            )
            for name, answer in zip(list(passed), answers, strict=True):
                some = [DuePartition(at, decoded(member)) for member, at in _scores(answer)]
                news = [partition for partition in some if after is None or partition > after]
                partitions += news
                passed[name] += len(some)
                if len(some) < most or len(news) == most:
                    del passed[name]
        return sorted(partitions)[:most]

    async def due_rows(self, partitions: Sequence[str], now: float, most: int) -> list[list[Row]]:
        answers = await self._send(
            [
                self._reading(
                    partition,
                    self._names_in(partition).times,
                    "ZRANGEBYSCORE",
                    "-inf",
                    repr(now),
                    most,
                )
                for partition in partitions
            ]
        )
        return [self._rows(answer) for answer in answers]

    async def status(self, now: float, most: int) -> TableStatus:
        commands: list[tuple[Any, ...]] = []
        for names in self._shards():
            commands += [
                ("HLEN", names.rows),
                ("ZRANGE", names.due, 0, 0, "WITHSCORES"),
                ("ZRANGEBYSCORE", names.due, "-inf", repr(now), "LIMIT", 0, PARTITIONS_COUNTED),
                ("HRANDFIELD", names.not_before, PARTITIONS_COUNTED),
            ]
        answers = await self._send(commands)
        counts = [
            ("ZCOUNT", names.times + partition, "-inf", repr(now))
            for names, due, others in zip(self._shards(), answers[2::4], answers[3::4], strict=True)
            for partition in {*due, *(others or ())}
            if most
        ]
        due_rows = sum(map(int, await self._send(counts)))
        firsts = [at for answer in answers[1::4] for _, at in _scores(answer)]
        return TableStatus(sum(map(int, answers[::4])), min(due_rows, most), min(firsts, default=None))

    # -- names and values --------------------------------------------------------------------------------------

    def _names_in(self, partition: str) -> TableNames:
        shards = self._shards()
        return shards[shard_number(partition, len(shards))]

    def _place(self, partition: str, row_id: bytes) -> tuple[bytes, bytes]:
        """Return the HASH and the field of a row."""
        names = self._names_in(partition)
        return names.rows if row_id else names.headers, _field(row_id, encoded(partition))

    def _calling(self, operation: str, partition: str, *args: Any) -> tuple[Any, ...]:
        names = self._names_in(partition)
        keys = [names.rows, names.headers]
        name = encoded(partition) if self._letters else b""
        if self._letters:
            keys += [names.due, names.not_before, names.times + name, names.ids + name]
        return self._server.calling(operation, (keys, [self._letters, name, *args]))

    def _reading(self, partition: str, index: bytes, *args: Any) -> tuple[Any, ...]:
        name = encoded(partition)
        return self._server.calling(
            "table_rows", ([self._names_in(partition).rows, index + name], [name, *args])
        )

    def _rows(self, answer: Sequence[bytes]) -> list[Row]:
        return [self._row(row_id, value) for row_id, value in pairs(answer)]

    def _value(self, row: Row) -> bytes:
        if not self._is_timed:
            return row.value
        return (_NO_TIME if row.at is None else _TIME.pack(row.at)) + row.value

    def _row(self, row_id: bytes, value: bytes) -> Row:
        return row_from(self._spec, row_id, value)


def row_from(spec: TableSpec, row_id: bytes, value: bytes) -> Row:
    """Return the row with this value in Redis."""
    if not spec.is_timed:
        return Row(row_id, value)
    [at] = _TIME.unpack_from(value)
    return Row(row_id, value[_TIME.size :], None if math.isnan(at) else at)


def _field(row_id: bytes, partition: bytes) -> bytes:
    return bytes((len(row_id),)) + row_id + partition


def _only_puts(change: Change) -> bool:
    """Return True if a change stores rows, none of them a header, whatever is stored."""
    only = change.put and not change.expected and not change.delete
    return bool(only) and all(row.id for row in change.put)


def _not_before(at: float | None) -> str:
    if at is None:
        return ""
    return repr(at) if at else "0"


def _scores(answer: Sequence[Any]) -> list[tuple[bytes, float]]:
    """Members and scores: pairs on some connections, one after the other on others."""
    scored = answer if answer and isinstance(answer[0], list | tuple) else pairs(answer)
    return [(member, float(score)) for member, score in scored]


class RedisTables:
    """The ``Tables`` of a crawl in Redis. They need no opening: they are there when the crawl is open."""

    def __init__(self, server: RedisServer, spider: str, shards: Callable[[], int]) -> None:
        """``shards()``: number of shards of the crawl, once it is open."""
        self._server = server
        self._sender = _Sender(server)
        self._spider = spider
        self._shards = shards
        self._tables: dict[str, RedisTable] = {}
        self._names: dict[str, list[TableNames]] = {}

    def table(self, spec: TableSpec) -> RedisTable:
        if spec.name not in self._tables:
            names = partial(self._table_names, spec.name)
            self._tables[spec.name] = RedisTable(self._server, self._sender, spec, names)
        return self._tables[spec.name]

    def _table_names(self, table: str) -> list[TableNames]:
        if table not in self._names:
            shards = [ShardNames(self._spider, number) for number in range(self._shards())]
            self._names[table] = [names.table(table) for names in shards]
        return self._names[table]

    async def lock(self, name: str, holder: str, seconds: float) -> bool:
        return await self._server.lock(f"{self._spider}:lock:{name}", holder, seconds)
