"""A SQLite database in the JOBDIR beside the frontier's: one connection, on a thread of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TypeVar

from webcrawl.errors import (
    CrawlError,
    JobdirDamaged,
    JobdirUnusable,
    JobdirVersion,
    StorageAway,
    StorageFull,
    StorageLost,
)
from webcrawl.storage.sqlite.opening import read_only

_T = TypeVar("_T")

_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
"""Another program uses the file."""
_AWAY = {*_LOCKED, sqlite3.SQLITE_CANTOPEN}
"""An error that may pass: SQLite also cannot open a file if the process has too many open files."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

_APPLICATION = 0x77637274
"""SQLite's application_id of a file of tables."""
_FORMAT = 1
"""SQLite's user_version of a file of tables: the version of their schema."""
_CREATE = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_FORMAT};
{{}}
COMMIT;
"""
BUSY_SECONDS = 10.0
"""Time to wait for another process that writes."""

Synchronous = Literal["OFF", "NORMAL", "FULL"]
"""SQLite's PRAGMA synchronous, which decides what a power cut may lose."""


_Work = Callable[[sqlite3.Connection], _T]


@dataclass(frozen=True, slots=True)
class _Outcome:
    result: Any = None
    error: Exception | None = None


_Call = tuple[str, _Work[Any], "asyncio.Future[Any]"]
"""The statement that begins the transaction, the work, and the caller's answer."""


class TablesFile:
    """Reads and writes of a database, one after the other, each wholly or not at all. Other processes may use it
    meanwhile.

    Opening it creates the file, unless it is only read: then a file that does not exist is empty.
    """

    def __init__(self, path: Path, without: str, *, reading: bool) -> None:
        """``without``: how the crawl would go on without this file, for messages. ``reading``: never create or change
        the file."""
        self._path = path
        self._without = without
        self._reading = reading
        self._synchronous: Synchronous = "OFF"
        self._schemas: dict[str, str] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=path.stem)
        self._calls: list[_Call] = []
        """The calls of this turn of the event loop."""
        self._connection: sqlite3.Connection | None = None
        self._empty: sqlite3.Connection | None = None
        """Has the tables of a file that does not exist."""

    def include(self, table: str, schema: str, synchronous: Synchronous) -> None:
        """Add a table before the file is opened. ``schema``: statements that create it unless it exists. Of several
        values of ``synchronous``, the safest counts."""
        self._schemas[table] = schema
        self._synchronous = max(self._synchronous, synchronous, key=("OFF", "NORMAL", "FULL").index)

    async def open(self) -> None:
        """Open the file. A crawl does this at its start: later it may have too many open files.

        :raises JobdirVersion: another version of webcrawl made it
        :raises JobdirDamaged: it is no database
        :raises JobdirUnusable: it cannot be opened
        """
        await self._run(self._open)

    async def close(self) -> None:
        self._send()
        await self._run(self._close)
        self._thread.shutdown()

    async def read(self, work: _Work[_T]) -> _T:
        """Return the result of ``work``, which sees the state of one moment."""
        return await self._call("BEGIN", work)

    async def write(self, work: _Work[_T]) -> _T:
        """Do ``work`` wholly or not at all. It may be called again, after all changes of the first call were undone.

        :raises StorageFull: nothing was changed, and it may be tried again
        :raises StorageAway: another process uses the file for too long
        :raises StorageLost: waiting does not help
        """
        return await self._call("BEGIN IMMEDIATE", work)

    async def _call(self, begin: str, work: _Work[_T]) -> _T:
        answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        if not self._calls:
            # The calls of one turn of the event loop go to the thread together.
            answer.get_loop().call_soon(self._send)
        self._calls.append((begin, work, answer))
        return await answer

    def _send(self) -> None:
        calls, self._calls = self._calls, []
        if not calls:
            return
        try:
            job = asyncio.get_running_loop().run_in_executor(self._thread, self._carry_out, calls)
        except RuntimeError as error:
            # The interpreter ends, and waits for all threads: nobody may wait here for an answer that never comes.
            for _, _, answer in calls:
                if not answer.done():
                    answer.set_exception(error)
            return
        job.add_done_callback(lambda job: _deliver(calls, job.result()))

    async def _run(self, step: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, step)

    # All methods below run on the file's thread.

    def _open(self) -> None:
        try:
            if self._path.exists() or not self._reading:
                self._connection = self._opened()
        except sqlite3.DatabaseError as error:
            if _code(error) in _DAMAGED:
                raise JobdirDamaged(
                    f"{self._path} cannot be used: {error}; without it {self._without}"
                ) from error
            raise JobdirUnusable(f"{self._path} cannot be opened: {error}") from error

    def _for_reading(self) -> sqlite3.Connection:
        if self._connection is None and self._path.exists():
            self._connection = self._opened()
        if self._connection is not None:
            return self._connection
        if self._empty is None:
            self._empty = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._empty.executescript("".join(self._schemas.values()))
        return self._empty

    def _for_writing(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        if self._reading:
            connection = read_only(self._path)
        else:
            connection = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
            )
        try:
            # The check comes before everything else: a refused file stays as it is.
            existing = self._tables_in(connection)
            missing = "".join(schema for table, schema in self._schemas.items() if table not in existing)
            if self._reading:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.executescript(missing.replace("CREATE TABLE", "CREATE TEMP TABLE"))
            else:
                _use_wal(connection)
                connection.execute(f"PRAGMA synchronous = {self._synchronous}")
                if missing:
                    connection.executescript(_CREATE.format(missing))
        except BaseException:
            connection.close()
            raise
        return connection

    def _tables_in(self, connection: sqlite3.Connection) -> set[str]:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        marks = [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        ]
        if tables and marks != [_APPLICATION, _FORMAT]:
            raise JobdirVersion(
                f"{self._path} was made by another version of webcrawl, in a format that this one does not read; "
                f"go on with the version that made it, or delete the file, without which {self._without}"
            )
        return tables

    def _close(self) -> None:
        for connection in (self._connection, self._empty):
            if connection is not None:
                connection.close()
        self._connection = self._empty = None

    def _carry_out(self, calls: Sequence[_Call]) -> list[_Outcome]:
        """Do the work of all calls, in their order; changes that follow each other share a transaction."""
        outcomes: list[_Outcome] = []
        for begin, group in groupby(calls, itemgetter(0)):
            outcomes += self._transact(begin, [work for _, work, _ in group])
        return outcomes

    def _transact(self, begin: str, works: Sequence[_Work[Any]]) -> list[_Outcome]:
        try:
            connection = self._for_reading() if begin == "BEGIN" else self._for_writing()
            connection.execute(begin)
        except Exception as error:  # each caller gets it
            return [_Outcome(error=self._translated(error)) for _ in works]
        try:
            results = [_Outcome(work(connection)) for work in works]
            connection.execute("COMMIT")
        except Exception as error:  # the caller gets it
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if len(works) > 1:
                # Only the calls that fail by themselves shall fail.
                return [outcome for work in works for outcome in self._transact(begin, [work])]
            return [_Outcome(error=self._translated(error))]
        return results

    def _translated(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.DatabaseError):
            return error
        code, text = _code(error), f"{self._path}: {error}"
        translated: CrawlError = StorageLost(f"{self._path} cannot be used: {error}")
        if code in _FULL:
            translated = StorageFull(text)
        elif code in _AWAY:
            translated = StorageAway(text)
        translated.__cause__ = error
        return translated


def _deliver(calls: Sequence[_Call], outcomes: Sequence[_Outcome]) -> None:
    for (_, _, answer), outcome in zip(calls, outcomes, strict=True):
        if answer.done():
            # The caller waits no longer.
            continue
        if outcome.error is None:
            answer.set_result(outcome.result)
        else:
            answer.set_exception(outcome.error)


def _use_wal(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait here for another process that creates the file at the same moment.
            if _code(error) not in _LOCKED or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _code(error: sqlite3.DatabaseError) -> int:
    """Return the primary result code of SQLite."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
