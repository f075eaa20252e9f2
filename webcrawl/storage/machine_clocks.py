"""The clocks that crawls of one machine share, as those of a service do: an SQLite file that each of them opens.

A clock is held by one request at a time, and rests after it: for the longest of the pauses that the last request
owes, that the next one asks for, and that crawls that wait ask for. Each process holds a lock on a file of its own,
which the system releases however the process ends; a clock of a process that is gone rests from the moment at which
that is seen. No server has to run, and a service that is killed changes nothing.

Times are those of ``uptime``, which all processes of a machine share. They begin anew when the machine does; then a
clock that seems to lie ahead rests from now.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import os
import secrets
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.errors import StorageAway
from webcrawl.storage.contract import (
    FOREVER,
    LeaseValidity,
    RateLimitDenial,
    RateLimitRequest,
    RateLimitReturn,
    uptime,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

NAME = "clocks.db"
GRACE_SECONDS = 0.5
"""Seconds that a clock is kept for a crawl that waits, after the time at which it asks again."""
POLL_SECONDS = (0.05, 0.5)
"""The shortest and the longest time until a clock is asked for again that another process holds."""
STALE_SECONDS = 60.0
"""A lock file that is older, and not locked, is of a process that is gone."""
SWEEP_EVERY = 5_000
"""Grants between two removals of clocks that nothing is owed on."""
BUSY_SECONDS = 5.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS clocks (
    name TEXT PRIMARY KEY,
    holder TEXT, ticket INTEGER, held_pause REAL NOT NULL DEFAULT 0,
    ended_at REAL NOT NULL DEFAULT -1, owed REAL NOT NULL DEFAULT 0, last TEXT,
    waiter TEXT, asks_at REAL NOT NULL DEFAULT 0, wish REAL NOT NULL DEFAULT 0
) WITHOUT ROWID
"""
_COLUMNS = "holder, ticket, held_pause, ended_at, owed, last, waiter, asks_at, wish"


@dataclass(slots=True)
class _Clock:
    """A row. ``ended_at``: -1 if no request was sent yet. ``waiter``: a crawl that was denied, and asks again at
    ``asks_at``; ``wish``: the longest pause of those that were denied."""

    holder: str | None = None
    ticket: int | None = None
    held_pause: float = 0.0
    ended_at: float = -1.0
    owed: float = 0.0
    last: str | None = None
    waiter: str | None = None
    asks_at: float = 0.0
    wish: float = 0.0

    def is_awaited(self, now: float) -> bool:
        return self.waiter is not None and now < self.asks_at + GRACE_SECONDS

    def wait(self, me: str, pause: float, now: float) -> float:
        """Return the seconds until a crawl may have a clock that nobody holds; 0 if it may have it now."""
        awaited = self.is_awaited(now)
        at = 0.0
        if self.ended_at >= 0:
            at = min(self.ended_at, now) + max(self.owed, pause, self.wish if awaited else 0.0)
        if awaited and self.waiter != me and self.last == me:
            # It is the turn of somebody else.
            at = max(at, self.asks_at + GRACE_SECONDS)
        return max(at - now, 0.0)

    def denied(self, me: str, pause: float, asks_at: float, now: float) -> None:
        """Remember that a crawl waits, so that its turn comes and its pause counts."""
        awaited = self.is_awaited(now)
        self.wish = max(self.wish, pause) if awaited else pause
        if not awaited or self.waiter == me:
            self.waiter, self.asks_at = me, asks_at


class MachineClocks:
    """A ``ClockStore``. What blocks runs on one thread of its own."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        """``clock``: the crawl's, epoch seconds. :raises OSError: the folder cannot be used"""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._clock = clock
        self._me = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = os.open(
            self._lock_path(self._me), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clocks")
        self._database: sqlite3.Connection | None = None
        atexit.register(self.close)
        self._grants = 0
        self._longest = 0.0

    def _lock_path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def rest(self, now: float) -> None:
        """Nothing to do: the file keeps the pauses that are owed."""

    async def exchange(
        self, returned: Sequence[RateLimitReturn], wanted: Sequence[RateLimitRequest]
    ) -> list[LeaseValidity | RateLimitDenial]:
        """:raises StorageAway: the file cannot be used now: nothing is granted"""
        since = [
            None if given_back.ended_at is None else max(self._clock() - given_back.ended_at, 0.0)
            for given_back in returned
        ]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._exchange, returned, since, wanted, uptime())

    def _exchange(
        self,
        returned: Sequence[RateLimitReturn],
        since: Sequence[float | None],
        wanted: Sequence[RateLimitRequest],
        at: float,
    ) -> list[LeaseValidity | RateLimitDenial]:
        try:
            database = self._opened()
            database.execute("BEGIN IMMEDIATE")
            try:
                for given_back, ago in zip(returned, since, strict=True):
                    self._take_back(database, given_back, None if ago is None else at - ago)
                now = uptime()
                answers = [self._answer(database, request, now) for request in wanted]
                self._sweep(database, now)
                database.execute("COMMIT")
            except BaseException:
                database.rollback()
                raise
        except (sqlite3.Error, OSError) as error:
            raise StorageAway(f"{self._folder / NAME}: {error}") from error
        return answers

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            path = self._folder / NAME
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            # The journal is for processes that are killed; after a crash of the machine no request is open.
            database.execute("PRAGMA journal_mode = TRUNCATE")
            database.execute("PRAGMA synchronous = OFF")
            database.execute(_SCHEMA)
            self._database = database
            self._remove_stale_locks()
        return self._database

    def _take_back(
        self, database: sqlite3.Connection, given_back: RateLimitReturn, ended_at: float | None
    ) -> None:
        for name, pause in given_back.pauses.items():
            mine = (name, self._me, given_back.ticket)
            if ended_at is None:
                database.execute(
                    "UPDATE clocks SET holder = NULL WHERE name = ? AND holder = ? AND ticket = ?", mine
                )
            else:
                database.execute(
                    "UPDATE clocks SET holder = NULL, ended_at = ?, owed = ? "
                    "WHERE name = ? AND holder = ? AND ticket = ?",
                    (ended_at, pause, *mine),
                )

    def _answer(
        self, database: sqlite3.Connection, request: RateLimitRequest, now: float
    ) -> LeaseValidity | RateLimitDenial:
        clocks = {}
        for name, pause in request.pauses.items():
            row = database.execute(f"SELECT {_COLUMNS} FROM clocks WHERE name = ?", (name,)).fetchone()
            clock = clocks[name] = _Clock(*row) if row else _Clock()
            self._longest = max(self._longest, pause)
            if clock.holder == self._me and clock.ticket == request.ticket:
                continue
            if clock.holder is not None and self._is_gone(clock.holder):
                clock.ended_at, clock.owed = now, max(clock.owed, clock.held_pause)
                clock.holder = None
            if clock.holder is not None:
                wait = min(max(pause / 4, POLL_SECONDS[0]), POLL_SECONDS[1])
            else:
                wait = clock.wait(self._me, pause, now)
            if wait > 0:
                if clock.last != self._me:
                    clock.denied(self._me, pause, now + wait, now)
                _store(database, name, clock)
                return RateLimitDenial(name, wait)
        for name, clock in clocks.items():
            clock.holder, clock.ticket, clock.last = self._me, request.ticket, self._me
            clock.held_pause = request.pauses[name]
            if clock.waiter == self._me:
                clock.waiter, clock.wish = None, 0.0
            _store(database, name, clock)
        self._grants += 1
        return FOREVER

    def _is_gone(self, name: str) -> bool:
        """Return whether the process that has this lock has ended. In doubt it has not."""
        if name == self._me:
            return False
        try:
            handle = os.open(self._lock_path(name), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True

    def _sweep(self, database: sqlite3.Connection, now: float) -> None:
        """Remove clocks that rest for nobody, so that the file grows with sites at work, and not with sites seen."""
        if self._grants >= SWEEP_EVERY:
            self._grants = 0
            kept = max(self._longest * 2, 3600.0)
            database.execute("DELETE FROM clocks WHERE holder IS NULL AND ended_at < ?", (now - kept,))

    def _remove_stale_locks(self) -> None:
        for path in self._folder.glob("*.lock"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS and self._is_gone(path.stem):
                    path.unlink()

    def close(self) -> None:
        """Release the lock: clocks that were not given back rest from the moment at which that is seen."""
        atexit.unregister(self.close)
        self._thread.shutdown(wait=True)
        if self._database is not None:
            with closing(self._database):
                self._database = None
        with suppress(OSError):
            self._lock_path(self._me).unlink()
            os.close(self._lock)


def _store(database: sqlite3.Connection, name: str, clock: _Clock) -> None:
    values = (
        *(clock.holder, clock.ticket, clock.held_pause, clock.ended_at, clock.owed),
        *(clock.last, clock.waiter, clock.asks_at, clock.wish),
    )
    database.execute(
        f"INSERT OR REPLACE INTO clocks (name, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, *values),
    )
