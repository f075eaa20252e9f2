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
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import NOW
from webcrawl.config import Configuration
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.records import CARRIED, State, UrlEntry, UrlRecord
from webcrawl.frontier.seen import Seen
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage import technologies, technology_named
from webcrawl.storage.inspection import Findings, FolderInspection
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite import check
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.storage.sqlite.keys import parse
from webcrawl.storage.technology import CrawlFacts
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from webcrawl.frontier.queue_head import QueuePosition
    from webcrawl.storage.contract import (
        Activated,
        Backend,
        Batch,
        Committed,
        Counts,
        Idle,
        Loaded,
        Move,
        Unavailable,
    )
    from webcrawl.storage.technology import Technology

KINDS = tuple(
    technology.name if seen == "exact" else f"{technology.name}-{seen}"
    for technology in technologies()
    if not technology.is_shared
    for seen in technology.seen_tests
)
"""The registered technologies that need no server, each with its kinds of seen test."""
FOLDER_KINDS = tuple(
    kind for kind in KINDS if technology_named(kind.partition("-")[0]).frontier_file is not None
)
"""Those that keep the state in the JOBDIR, so that it can be inspected from outside."""
UNSEEN = "what is stored cannot be seen past the contract"
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
        self.knows_pruned = True
        """Whether a URL that was pruned while it was fetched ends as its fetch did; else it stays refused."""
        self.sampler = LevelSampler(2.0, seed=7)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    # -- the contract ----------------------------------------------------------------------------------------

    def open(self, now: float = NOW) -> Counts:
        return self.run(self.backend.open(now))

    def close(self) -> None:
        self.run(self.backend.close())

    def activate_keys(self, count: int = 100, now: float = NOW) -> list[Activated]:
        return self.run(self.backend.activate_keys(count, now, self.sampler))

    def active_keys(self, count: int = 100, now: float = NOW) -> list[str]:
        return [active.record.key for active in self.activate_keys(count, now)]

    def activate_one(self, now: float = NOW) -> Activated:
        [one] = self.activate_keys(1, now)
        return one

    def acquire_key(self, key: str, now: float = NOW, *, given_up: bool = False) -> Activated | Unavailable:
        return self.run(self.backend.acquire_key(key, now, given_up=given_up))

    def read_queue(self, key: str, after: QueuePosition | None = None, count: int = 1000) -> Loaded:
        return self.run(self.backend.read_queue(key, after, count))

    def commit(self, batch: Batch) -> Committed:
        return self.run(self.backend.commit(batch))

    def release_keys(self, *records: HostRecord) -> None:
        self.run(self.backend.release_keys(records))

    def read_idle_times(self) -> Idle:
        return self.run(self.backend.read_idle_times())

    def read_counts(self) -> Counts:
        return self.run(self.backend.read_counts())

    def record_of(self, one: UrlEntry) -> UrlRecord | None:
        return self.run(self.backend.url_record(one.key, one.fingerprint))

    def state_of(self, one: UrlEntry) -> State | None:
        record = self.record_of(one)
        return None if record is None else record.state

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
    def lift_limit(self) -> None:
        """Let queues have no limit from the next life on."""

    @abstractmethod
    def survive(self) -> None:
        """Put a new backend, not opened yet, before what a kill -9 at this moment would have left."""

    def listen(
        self,
        heard: Callable[[Batch, Committed], None],
        moved: Callable[[list[Move]], None] = lambda moves: None,
    ) -> None:
        """Have ``heard`` called in the moment in which a commit is carried out, before anybody else knows, and
        ``moved`` with what was moved."""
        pytest.skip(UNSEEN)

    @abstractmethod
    def counts_now(self) -> Counts:
        """The backend's counts without a turn of the event loop."""

    @abstractmethod
    def queued(self) -> list[UrlEntry]:
        """All stored queues, key by key, each in its order."""

    def states(self) -> Counter[State]:
        """How many URLs are stored in each state; empty without an exact seen test."""
        pytest.skip(UNSEEN)

    def records(self) -> dict[int, UrlRecord]:
        """What is stored of each URL, by its fingerprint; empty without an exact seen test."""
        pytest.skip(UNSEEN)

    def hosts(self) -> dict[str, StoredHost]:
        """All keys as they are stored."""
        pytest.skip(UNSEEN)

    @abstractmethod
    def dispose(self) -> None:
        """Leave nothing open."""

    def check_consistency(self) -> None:
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


class DrivenFolder(Driven):
    """A backend whose state lives in a folder; a crash leaves the files as they are."""

    directory: Path
    technology: Technology

    @property
    def inspection(self) -> FolderInspection:
        return self.technology.inspect_folder(self.directory)


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
            partial(MemoryBackend.change_levels, self.backend),
        )

        async def moving(moves: Sequence[Move]) -> list[Move]:
            done = await move(moves)
            moved(done)
            return done

        self.backend.change_levels = moving

        async def commit(batch: Batch) -> Committed:
            committed = await carry_out(batch)
            heard(batch, committed)
            return committed

        self.backend.commit = commit

    def lift_limit(self) -> None:
        raise AssertionError("there is no next life")

    def counts_now(self) -> Counts:
        try:
            self.backend.read_counts().send(None)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("the memory backend waits for something")

    def queued(self) -> list[UrlEntry]:
        return [one for key in sorted(self.backend._hosts) for one in self.backend._hosts[key].queue]

    def states(self) -> Counter[State]:
        return Counter(url.state for host in self.backend._hosts.values() for url in host.urls.values())

    def records(self) -> dict[int, UrlRecord]:
        return {mark: one for host in self.backend._hosts.values() for mark, one in host.urls.items()}

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


class DrivenSqlite(DrivenFolder):
    """The SQLite backend."""

    technology = technology_named("sqlite")

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

    def lift_limit(self) -> None:
        self._options = replace(self._options, queue_max=0)

    def counts_now(self) -> Counts:
        return self.backend._count()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            return connection.execute(statement).fetchall()

    def queued(self) -> list[UrlEntry]:
        rows = self.rows(
            "SELECT url, key, fingerprint, -rank, position, depth, via, kind, redirects, attempts, repeat, "
            f"{', '.join(CARRIED.values())} FROM queue JOIN hosts ON hosts.id = host_id ORDER BY key, rank, position"
        )
        return [UrlEntry(*row[:10], bool(row[10]), *row[11:]) for row in rows]

    def states(self) -> Counter[State]:
        return Counter(State(row[0]) for row in self.rows("SELECT state FROM seen"))

    def records(self) -> dict[int, UrlRecord]:
        rows = self.rows("SELECT fingerprint, state, rule, status FROM seen")
        return {mark: UrlRecord(State(state), *rest) for mark, state, *rest in rows}

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

    def check_consistency(self) -> None:
        super().check_consistency()
        assert check.check(self.path).left == Findings()

    def dispose(self) -> None:
        for backend in [*self._left, self.backend]:
            if hasattr(backend, "_connection"):
                backend._connection.close()
            backend._thread.shutdown()


class DrivenTechnology(DrivenFolder):
    """A backend of any technology, by its contract alone: without a look at what is stored."""

    def __init__(
        self,
        runner: asyncio.Runner,
        exact: bool,
        directory: Path,
        technology: Technology,
        *,
        queue_max: int = 0,
        delay_seconds: float = 0.0,
        robots_max: int = 1 << 18,
    ) -> None:
        super().__init__(runner, exact)
        self.technology = technology
        self._configuration = Configuration(
            frontier_seen="exact" if exact else "bloom",
            frontier_seen_capacity=SEEN_CAPACITY,
            frontier_seen_error_rate=SEEN_ERROR_RATE,
            frontier_queue_max=queue_max,
            politeness_min_delay=delay_seconds,
            robots_cache_size=robots_max,
        )
        self._base = directory
        self._lives = 0
        self.directory = directory / "life0"
        self.directory.mkdir(parents=True)
        self._left: list[Backend] = []
        self.backend = self._made()

    def _made(self) -> Backend:
        facts = CrawlFacts(
            self._configuration, None, self.directory, None, IDENTITY, dict, get_host, lambda host: None
        )
        return self.technology.build(facts)[0]

    def renew(self) -> None:
        self.backend = self._made()

    def survive(self) -> None:
        self._lives += 1
        directory = self._base / f"life{self._lives}"
        shutil.copytree(self.directory, directory)
        self._left.append(self.backend)
        self.directory = directory
        self.backend = self._made()

    def lift_limit(self) -> None:
        self._configuration = replace(self._configuration, frontier_queue_max=0)

    def counts_now(self) -> Counts:
        return self.read_counts()

    def queued(self) -> list[UrlEntry]:
        found: list[UrlEntry] = []
        cursor = None
        while True:
            walked = self.run(self.backend.scan_queues(cursor, 1000))
            found += walked.entries
            if (cursor := walked.cursor) is None:
                return sorted(found, key=lambda one: one.key)

    def check_consistency(self) -> None:
        assert self.read_counts().queued == len(self.queued())

    def dispose(self) -> None:
        for backend in [*self._left, self.backend]:
            self.run(backend.close())


def make(kind: str, runner: asyncio.Runner, directory: Path, **options: Any) -> Driven:
    """A backend of ``kind``, not opened yet. ``options``: queue_max, delay_seconds, robots_max."""
    name, _, seen = kind.partition("-")
    exact = seen != "bloom"
    if name == "memory":
        return DrivenMemory(runner, exact, **options)
    if name == "sqlite":
        return DrivenSqlite(runner, exact, directory, **options)
    return DrivenTechnology(runner, exact, directory, technology_named(name), **options)
