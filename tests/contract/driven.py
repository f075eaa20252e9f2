"""A backend as tests drive it: without ``await``, with ways to end it and take it up again, and to count anew.

``recount`` and ``queued`` look at what is stored, past everything the backend keeps in memory for speed.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.contract.samples import NOW
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.frontier.seen import Seen
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.inspection import Findings
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite import SqliteBackend, check
from webcrawl.storage.sqlite.frontier import SqliteOptions
from webcrawl.storage.sqlite.keys import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from webcrawl.frontier.queue_head import Place
    from webcrawl.storage.contract import Activated, Backend, Batch, Committed, Counts, Idle, Loaded, Move

KINDS = ("memory", "memory-bloom", "sqlite", "sqlite-bloom")
SEEN_CAPACITY = 2_000
SEEN_ERROR_RATE = 1e-6
IDENTITY = {"POLITENESS_KEY": "host"}


@dataclass(slots=True)
class StoredHost:
    """A key as it is stored."""

    record: HostRecord
    active: bool
    idle: bool
    level: int
    queued: int


class Driven(ABC):
    """One backend and the place where its state lives."""

    backend: Backend

    def __init__(self, runner: asyncio.Runner, exact: bool) -> None:
        self.runner = runner
        self.exact = exact
        """Whether the seen test keeps the state of each URL."""
        self.draw = LevelSampler(2.0, seed=7)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    # -- the contract ----------------------------------------------------------------------------------------

    def open(self, now: float = NOW) -> Counts:
        return self.run(self.backend.open(now))

    def close(self) -> None:
        self.run(self.backend.close())

    def activate(self, count: int = 100, now: float = NOW) -> list[Activated]:
        return self.run(self.backend.activate(count, now, self.draw))

    def active_keys(self, count: int = 100, now: float = NOW) -> list[str]:
        return [one.record.key for one in self.activate(count, now)]

    def activate_one(self, now: float = NOW) -> Activated:
        [one] = self.activate(1, now)
        return one

    def load(self, key: str, after: Place | None = None, count: int = 1000) -> Loaded:
        return self.run(self.backend.load(key, after, count))

    def commit(self, batch: Batch) -> Committed:
        return self.run(self.backend.commit(batch))

    def release(self, *records: HostRecord) -> None:
        self.run(self.backend.release(records))

    def idle(self) -> Idle:
        return self.run(self.backend.idle())

    def counts(self) -> Counts:
        return self.run(self.backend.counts())

    def state_of(self, one: UrlEntry) -> State | None:
        return self.run(self.backend.state_of(one.key, one.fingerprint))

    # -- around it -------------------------------------------------------------------------------------------

    def reopen(self, now: float = NOW) -> Counts:
        """Close it and open what it left."""
        self.close()
        self.renew()
        return self.open(now)

    def crash(self, now: float = NOW) -> Counts:
        """Open what a kill -9 at this moment would have left."""
        self.survive()
        return self.open(now)

    @abstractmethod
    def renew(self) -> None:
        """Put a new backend, not opened yet, before what the closed one left."""

    @abstractmethod
    def survive(self) -> None:
        """Put a new backend, not opened yet, before what a kill -9 at this moment would have left."""

    @abstractmethod
    def listen(
        self,
        heard: Callable[[Batch, Committed], None],
        moved: Callable[[list[Move]], None] = lambda moves: None,
    ) -> None:
        """Have ``heard`` called in the moment in which a commit is carried out, before anybody else knows, and
        ``moved`` with what was moved."""

    @abstractmethod
    def counts_now(self) -> Counts:
        """The backend's counts without a turn of the event loop."""

    @abstractmethod
    def queued(self) -> list[UrlEntry]:
        """All stored queues, key by key, each in its order."""

    @abstractmethod
    def states(self) -> Counter[State]:
        """How many URLs are stored in each state; empty without an exact seen test."""

    @abstractmethod
    def hosts(self) -> dict[str, StoredHost]:
        """All keys as they are stored."""

    @abstractmethod
    def dispose(self) -> None:
        """Leave nothing open."""

    def check_books(self) -> None:
        """The counts agree with what is stored, and what is stored agrees with itself."""
        counts, queued, hosts, states = self.counts_now(), self.queued(), self.hosts(), self.states()
        assert counts.queued == len(queued)
        assert counts.hosts == len(hosts)
        given_up = [host for host in hosts.values() if host.record.given_up]
        assert counts.given_up_hosts == len(given_up)
        assert counts.given_up_urls == sum(host.queued for host in given_up)
        assert counts.parked_hosts == sum(host.idle and host.record.parked for host in hosts.values())
        if self.exact:
            assert counts.done == states[State.DONE]
            assert counts.failed == states[State.FAILED]
            assert counts.refused == states[State.REFUSED]
            assert states[State.QUEUED] == sum(not one.repeat for one in queued)
        lengths = Counter(one.key for one in queued)
        levels: dict[str, int] = {}
        for one in queued:
            levels[one.key] = max(one.level, levels.get(one.key, one.level))
        for key, host in hosts.items():
            assert host.queued == lengths[key], key
            assert host.idle == (host.queued > 0 and not host.active and not host.record.given_up), key
            assert not host.idle or host.level == levels[key], key


class DrivenMemory(Driven):
    """The memory backend; its state lives in the object, which a crash leaves as it is."""

    def __init__(self, runner: asyncio.Runner, exact: bool, **options: Any) -> None:
        super().__init__(runner, exact)
        seen = None if exact else Seen(SEEN_CAPACITY, SEEN_ERROR_RATE)
        options.pop("robots_max", None)
        self.backend: MemoryBackend = MemoryBackend(seen=seen, **options)

    def renew(self) -> None:
        """The object is what is left of itself."""

    def survive(self) -> None:
        """The object is what is left of itself."""

    def listen(
        self,
        heard: Callable[[Batch, Committed], None],
        moved: Callable[[list[Move]], None] = lambda moves: None,
    ) -> None:
        carry_out, move = (
            partial(MemoryBackend.commit, self.backend),
            partial(MemoryBackend.move, self.backend),
        )

        async def moving(moves: Sequence[Move]) -> list[Move]:
            done = await move(moves)
            moved(done)
            return done

        self.backend.move = moving

        async def commit(batch: Batch) -> Committed:
            committed = await carry_out(batch)
            heard(batch, committed)
            return committed

        self.backend.commit = commit

    def counts_now(self) -> Counts:
        try:
            self.backend.counts().send(None)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("the memory backend waits for something")

    def queued(self) -> list[UrlEntry]:
        return [one for key in sorted(self.backend._hosts) for one in self.backend._hosts[key].queue]

    def states(self) -> Counter[State]:
        return Counter(state for host in self.backend._hosts.values() for state in host.states.values())

    def hosts(self) -> dict[str, StoredHost]:
        return {
            key: StoredHost(
                host.record,
                host.active,
                bool(host.queue and not host.active and not host.record.given_up),
                host.queue[0].level if host.queue else 0,
                len(host.queue),
            )
            for key, host in self.backend._hosts.items()
        }

    def dispose(self) -> None:
        """There is nothing to close."""


class DrivenSqlite(Driven):
    """The SQLite backend; its state lives in a folder, and a crash leaves the files as they are."""

    def __init__(self, runner: asyncio.Runner, exact: bool, directory: Path, **options: Any) -> None:
        super().__init__(runner, exact)
        self._base = directory
        self._lives = 0
        self._options = SqliteOptions(
            seen="exact" if exact else "bloom",
            seen_capacity=SEEN_CAPACITY,
            seen_error_rate=SEEN_ERROR_RATE,
            cache_bytes=1 << 20,
            **options,
        )
        self.directory = directory / "life0"
        self.directory.mkdir(parents=True)
        self._left: list[SqliteBackend] = []
        self.backend: SqliteBackend = self._made()

    def _made(self) -> SqliteBackend:
        identity = {**IDENTITY, "FRONTIER_SEEN": self._options.seen}
        return SqliteBackend(self.directory, self._options, identity)

    @property
    def path(self) -> Path:
        return self.directory / "frontier.db"

    @property
    def connection(self) -> sqlite3.Connection:
        """The writer's own connection, for tests that take its room away."""
        return self.backend._connection

    def renew(self) -> None:
        self.backend = self._made()

    def survive(self) -> None:
        self._lives += 1
        directory = self._base / f"life{self._lives}"
        # The shared-memory file holds nothing that outlives the processes that mapped it.
        shutil.copytree(self.directory, directory, ignore=shutil.ignore_patterns("*-shm"))
        self._left.append(self.backend)
        self.directory = directory
        self.backend = self._made()

    def listen(
        self,
        heard: Callable[[Batch, Committed], None],
        moved: Callable[[list[Move]], None] = lambda moves: None,
    ) -> None:
        carry_out, move = (
            partial(SqliteBackend._commit, self.backend),
            partial(SqliteBackend._move, self.backend),
        )

        def moving(moves: Sequence[Move]) -> list[Move]:
            done = move(moves)
            moved(done)
            return done

        self.backend._move = moving

        def commit(batch: Batch) -> Committed:
            committed = carry_out(batch)
            heard(batch, committed)
            return committed

        self.backend._commit = commit

    def counts_now(self) -> Counts:
        return self.backend._count()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            return connection.execute(statement).fetchall()

    def queued(self) -> list[UrlEntry]:
        rows = self.rows(
            "SELECT url, key, fingerprint, -rank, position, depth, via, kind, redirects, attempts, repeat, "
            "payload, listed, traits FROM queue JOIN hosts ON hosts.id = host_id ORDER BY key, rank, position"
        )
        return [UrlEntry(*row[:10], bool(row[10]), *row[11:]) for row in rows]

    def states(self) -> Counter[State]:
        return Counter(State(row[0]) for row in self.rows("SELECT state FROM seen"))

    def hosts(self) -> dict[str, StoredHost]:
        rows = self.rows(
            "SELECT key, record, next_fetch_at, delay_seconds, parked, given_up, active, idle, level, queued "
            "FROM hosts"
        )
        hosts = {}
        for key, text, next_fetch_at, delay, parked, given_up, active, idle, level, queued in rows:
            record = parse(text) if text else HostRecord(key)
            record.next_fetch_at, record.delay_seconds = next_fetch_at, delay
            record.parked, record.given_up = bool(parked), bool(given_up)
            hosts[key] = StoredHost(record, bool(active), bool(idle), level, queued)
        return hosts

    def check_books(self) -> None:
        super().check_books()
        assert check.check(self.path).left == Findings()

    def dispose(self) -> None:
        for backend in [*self._left, self.backend]:
            if hasattr(backend, "_connection"):
                backend._connection.close()
            backend._thread.shutdown()


def make(kind: str, runner: asyncio.Runner, directory: Path, **options: Any) -> Driven:
    """A backend of ``kind``, not opened yet. ``options``: queue_max, delay_seconds, robots_max."""
    exact = not kind.endswith("bloom")
    if kind.startswith("memory"):
        return DrivenMemory(runner, exact, **options)
    return DrivenSqlite(runner, exact, directory, **options)
