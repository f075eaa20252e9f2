"""The backend contract on SQLite: the methods that the event loop calls."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from webcrawl.errors import StorageAway, StorageFull, StorageLost
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.frontier.records import UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import (
    HEAD,
    Activated,
    Batch,
    Committed,
    Counts,
    Idle,
    Loaded,
    Move,
    ScanCursor,
    ScanResult,
    Unavailable,
)
from webcrawl.storage.sqlite.commits import Commits
from webcrawl.storage.sqlite.keys import Keys
from webcrawl.storage.sqlite.opening import COUNTED, merge_counted, open_database, translate_opening
from webcrawl.storage.sqlite.queues import Queues
from webcrawl.storage.sqlite.seen import BloomSeen, ExactSeen, SeenTest
from webcrawl.storage.sqlite.tables import SqliteTables

_P = ParamSpec("_P")
_T = TypeVar("_T")

PRUNES = "prunes"
"""The name in ``meta`` that exists once the crawl has had a limit for its queues."""

STORE_COUNTED = f"INSERT OR REPLACE INTO meta VALUES ('{COUNTED}' || ?, ?)"
_TOTALS = ("queued", "done", "failed", "refused", "hosts", "robots")


@dataclass(frozen=True, slots=True)
class SqliteOptions:
    """Options of a crawl's database; the settings ``FRONTIER_*`` and ``ROBOTS_CACHE_SIZE`` mean the same."""

    seen: Literal["exact", "bloom"] = "exact"
    seen_capacity: int = 10_000_000
    seen_error_rate: float = 1e-4
    cache_bytes: int = 32 * 1024 * 1024
    queue_max: int = 0
    """URLs per key; more are pruned, lowest level first. 0 for no limit."""
    robots_max: int = 1 << 18
    delay_seconds: float = 0.0
    """The rest that a key that was never fetched from owes after a crash."""


class SqliteBackend:
    """The frontier in ``directory/frontier.db``, the tables in files beside it. One thread holds the only connection
    that writes the frontier.

    Only the hand-over runs on the event loop, so a commit or a checkpoint of the write-ahead log that takes long
    delays only the calls that wait for it.
    """

    def __init__(self, directory: Path, options: SqliteOptions, identity: Mapping[str, str]) -> None:
        self._directory = directory
        self._path = directory / "frontier.db"
        self._options = options
        self._identity = identity
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self.tables = SqliteTables(directory)

    async def open(self, now: float) -> Counts:
        # First, since opening the frontier changes it: a crawl that is refused stays as it is.
        await self.tables.open()
        try:
            return await self._run(self._open, now)
        except BaseException:
            await self.tables.close()
            raise

    async def close(self) -> None:
        try:
            await self._run(self._close)
        finally:
            self._thread.shutdown()
            await self.tables.close()

    async def activate_keys(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        return await self._run(self._activate, count, now, sampler)

    async def acquire_key(self, key: str, now: float, *, given_up: bool = False) -> Activated | Unavailable:
        return await self._run(self._acquire, key, given_up=given_up)

    async def read_queue(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        return await self._run(self._load, key, after, count)

    async def scan_queues(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        return await self._run(self._scan, cursor, count)

    async def change_levels(self, moves: Sequence[Move]) -> list[Move]:
        return await self._run(self._move, moves)

    async def commit(self, batch: Batch) -> Committed:
        return await self._run(self._commit, batch)

    async def release_keys(self, records: Sequence[HostRecord]) -> None:
        await self._run(self._release, records)

    async def end_robots_wait(self, keys: Sequence[str]) -> None:
        await self._run(self._wake, keys)

    async def read_idle_times(self) -> Idle:
        return await self._run(self._idle)

    async def count_available_keys(self, at_most: int) -> int:
        return await self._run(self._count_available_keys, at_most)

    async def read_counts(self) -> Counts:
        return await self._run(self._count)

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        return await self._run(self._url_record, key, fingerprint)

    async def read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        return await self._run(self._read_robots, origin)

    async def _run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._guarded(function, *args, **kwargs))

    # All methods below run on the store's thread.

    def _guarded(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except sqlite3.DatabaseError as error:
            raise self._translate(error) from error

    def _open(self, now: float) -> Counts:
        self._connection = open_database(self._path, self._options.cache_bytes, self._identity)
        try:
            self._load_state(now)
        except BaseException as error:
            self._disconnect()
            if isinstance(error, sqlite3.DatabaseError):
                raise translate_opening(error, self._path) from error
            raise
        return self._count()

    def _load_state(self, now: float) -> None:
        options = self._options
        self._keys = Keys(self._connection, options.delay_seconds)
        self._queues = Queues(self._connection, options.robots_max)
        row = self._connection.execute(f"SELECT {', '.join(_TOTALS)} FROM totals").fetchone()
        self._totals = dict(zip(_TOTALS, row, strict=True))
        self._seen: SeenTest = (
            ExactSeen(self._connection, prunes=self._prunes())
            if options.seen == "exact"
            else BloomSeen(self._connection, self._directory, options.seen_capacity, options.seen_error_rate)
        )
        self._commits = Commits(self._keys, self._queues, self._seen, self._totals, options.queue_max)
        with self._transaction():
            self._keys.rest_after_crash(now)
            self._keys.revive()
            self._keys.wake_all()
            merge_counted(self._connection)

    def _prunes(self) -> bool:
        """Return True if URLs are pruned from full queues, or may have been when the crawl had a limit before."""
        if self._options.queue_max > 0:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, 'yes')", (PRUNES,))
            return True
        return bool(self._connection.execute("SELECT 1 FROM meta WHERE name = ?", (PRUNES,)).fetchone())

    def _close(self) -> None:
        if hasattr(self, "_seen"):
            # A full disk loses nothing here: the database has what the filter's file lacks.
            with suppress(OSError, sqlite3.OperationalError):
                self._seen.save()
            self._disconnect()

    def _disconnect(self) -> None:
        """Close the connection, and drop the objects whose cursors would keep it open."""
        for name in ("_commits", "_keys", "_queues", "_seen"):
            self.__dict__.pop(name, None)
        self._connection.close()

    def _activate(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        with self._transaction():
            return [
                Activated(record, self._queues.load(host_id, record.key, None, HEAD))
                for host_id, record in self._keys.activate(count, now, sampler)
            ]

    def _acquire(self, key: str, *, given_up: bool) -> Activated | Unavailable:
        with self._transaction():
            host_id = self._keys.get_id(key)
            added = self._keys.added
            self._connection.execute("UPDATE totals SET hosts = hosts + ?", (added,))
            record = self._keys.acquire(host_id, even_given_up=given_up)
            queue = self._queues.load(host_id, key, None, HEAD)
        self._totals["hosts"] += added
        return record if isinstance(record, Unavailable) else Activated(record, queue)

    def _load(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        return self._queues.load(self._keys.get_id(key), key, after, count)

    def _scan(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        return self._queues.scan(cursor, count)

    def _move(self, moves: Sequence[Move]) -> list[Move]:
        with self._transaction():
            ids = self._keys.allowed(moves)
            moved = self._queues.move(moves, ids)
            self._keys.left({ids[move.entry.key] for move in moved})
        return moved

    def _release(self, records: Sequence[HostRecord]) -> None:
        with self._transaction():
            self._keys.release(records)

    def _wake(self, keys: Sequence[str]) -> None:
        with self._transaction():
            self._keys.wake(keys)

    def _idle(self) -> Idle:
        return self._keys.idle()

    def _count_available_keys(self, at_most: int) -> int:
        return self._keys.at_hand(at_most)

    def _count(self) -> Counts:
        totals = self._totals
        counts = Counts(
            totals["queued"], totals["done"], totals["failed"], totals["refused"], totals["hosts"]
        )
        self._keys.count_given_up(counts)
        return counts

    def _url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        host_id = self._keys.known_id(key)
        return None if host_id is None else self._seen.record(host_id, fingerprint)

    def _read_robots(self, origin: str) -> RobotsRecord | None:
        return self._queues.read_robots(origin)

    def _commit(self, batch: Batch) -> Committed:
        before = dict(self._totals)
        try:
            with self._transaction():
                committed = self._commits.carry_out(batch)
                if batch.counted is not None:
                    self._connection.execute(STORE_COUNTED, (batch.counted.name, batch.counted.packed()))
                self._connection.execute(
                    f"UPDATE totals SET {', '.join(f'{name} = ?' for name in _TOTALS)}",
                    [self._totals[name] for name in _TOTALS],
                )
        except BaseException:
            self._totals.update(before)
            raise
        return committed

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._keys.forget_ids()
            self._seen.rolled_back()
            raise
        self._keys.added = 0
        self._seen.committed()

    def _translate(self, error: sqlite3.DatabaseError) -> StorageFull | StorageLost:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return StorageFull(f"{self._path}: {error}")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StorageAway(f"{self._path}: {error}; another program works on it")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StorageLost(
                f"{self._path} was found damaged while the crawl ran ({error}); go on from a checkpoint"
            )
        return StorageLost(f"{self._path}: {error}")
