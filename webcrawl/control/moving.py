"""``scrapy move``: a crawl goes on with another storage.

The target gets what the storage of the source keeps: URLs in their states, queues in their order, the records of
hosts with their clocks, robots.txt, figures, and the tables of features with what operators have changed. The
source stays as it is until the target has all of that and agrees with itself. Marks (``storage/move_mark.py``) say
at both places where the crawl may go on, so that it never goes on at both:

* the target has its mark from the first moment on, and nothing works on it before that is changed at the very end;
* the source is held meanwhile. Its mark is set before the one of the target is changed: if that is interrupted, the
  same command changes it.

A move that was interrupted before begins anew.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from webcrawl.config import Configuration
from webcrawl.control.selection import require_crawl, select_crawl_in
from webcrawl.control.shared import SharedCrawl
from webcrawl.crawl.jobdir import OWNERS, Jobdir
from webcrawl.crawl.moved import read_mark, write_mark
from webcrawl.crawl.rules import CrawlRules
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import KeptSeeds
from webcrawl.crawl.storage import build_backend, identity_settings
from webcrawl.errors import CrawlError, JobdirUnusable, NoSuchCrawl, StorageAway, StorageFull
from webcrawl.features.content_seen.store import SPEC as CONTENTS
from webcrawl.features.dust.store import PAGES as DUST_PAGES
from webcrawl.features.dust.store import SPEC as DUST
from webcrawl.features.focus.store import NAME as LEARNED
from webcrawl.features.hints.store import SPEC as HINTS
from webcrawl.features.mirrors.store import SPEC as MIRRORS
from webcrawl.features.near_duplicates.store import SPEC as SKETCHES
from webcrawl.features.refusals.start_pages import SPEC as START_PAGES
from webcrawl.features.revisits.store import LESSONS, PAGES
from webcrawl.features.steering.failures import SPEC as FAILURES
from webcrawl.features.steering.kept_settings import arguments_of_crawl, settings_of_crawl
from webcrawl.features.steering.store import SPEC as STEERING
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.traps.store import SPEC as TRAPS
from webcrawl.features.websub.store import SPEC as SUBSCRIPTIONS
from webcrawl.frontier.records import UrlEntry
from webcrawl.reports import text
from webcrawl.storage import DEFAULT, technologies, technology_in, technology_named
from webcrawl.storage.contract import Activated, Batch, Settled, SharedBackend
from webcrawl.storage.move_mark import MoveMark, MoveState
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.frontier.records import UrlRecord
    from webcrawl.politeness.host_record import HostRecord
    from webcrawl.storage.contract import Backend, Counts
    from webcrawl.storage.inspection import WholeCrawl
    from webcrawl.storage.tables import Change, Table, TableSpec

TABLES = (
    STEERING,
    FAILURES,
    TRAPS,
    START_PAGES,
    DUST,
    DUST_PAGES,
    MIRRORS,
    HINTS,
    PAGES,
    LESSONS,
    SUBSCRIPTIONS,
    CONTENTS,
    SKETCHES,
)
"""The tables that are copied. The time series stay: they are of the processes that drew them."""
AT_ONCE = 500
"""URLs of a host, answers, or rows that are read at once."""
TOGETHER = 2_000
"""URLs of a step of the target."""
HOSTS_TOGETHER = 200
CHANGES_TOGETHER = 200
STILL_SECONDS = 60.0
"""The time for which a source that any process could reach stays closed after this one was killed."""
RENEW_SECONDS = 10.0
SILENCE_POLL_SECONDS = 0.5
"""Interval at which workers are checked for silence."""
DURABLE_SECONDS = 1.5
"""A server that appends to its file each second has all that it was given after this time."""


class MoveDisagrees(CrawlError):  # noqa: N818 - states what happened
    """The copy is not what the source has: the source goes on."""


@dataclass(slots=True)
class Copied:
    """The numbers of things that were read from the source."""

    hosts: int = 0
    queued: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    """URLs that are done, failed or refused."""
    robots: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    """Rows by the names of their tables, as the source counts them."""
    learned: int = 0
    """Pages from which a focused crawl has learned its link scores."""

    def lines(self) -> Iterator[str]:
        states = ", ".join(
            f"{text.count(self.settled[name])} {name}" for name in ("done", "failed", "refused")
        )
        yield f"URLs    {text.count(self.queued)} queued, {states}"
        yield f"hosts   {text.count(self.hosts)}"
        yield f"robots  {text.things(self.robots, 'answer')}"
        if rows := [f"{name} {text.count(number)}" for name, number in self.rows.items() if number]:
            yield f"tables  {', '.join(rows)}"
        if self.learned:
            yield f"scores  learned from {text.things(self.learned, 'page')}"


# -- places --------------------------------------------------------------------------------------------------------


class MoveEnd(ABC):
    """A place at which the state of a crawl is kept, or to which it goes."""

    name: str

    @property
    @abstractmethod
    def crawl(self) -> StoredCrawl:
        """The crawl there. :raises CrawlError: there is none"""

    @abstractmethod
    def mark(self) -> MoveMark | None:
        """Return the mark there; None if there is no mark, or no crawl."""

    def set_mark(self, mark: MoveMark | None) -> None:
        self.crawl.set_move_mark(mark)

    @abstractmethod
    def is_occupied(self) -> bool:
        """Return True if there is a crawl."""

    @contextmanager
    def held(self, to: str) -> Iterator[None]:
        """Keep all others from working on the crawl, which is moved to ``to``. :raises CrawlError: one works on it"""
        yield

    # -- as a target -----------------------------------------------------------------------------------------

    folder: Path | None = None
    """The JOBDIR in which the state is kept, if it is not elsewhere."""

    @abstractmethod
    def clear(self, mark: MoveMark) -> None:
        """Delete the state of a crawl that is not here any more, or not complete, and set a mark."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the settings of a process of the crawl here."""

    @abstractmethod
    def settle(self) -> None:
        """Return when all that was copied is on the disk."""

    @abstractmethod
    def start_words(self) -> str:
        """Return what the user may do now."""


class FolderEnd(MoveEnd):
    """A JOBDIR: of one process, or of several workers with their own server."""

    def __init__(self, folder: Path, spider: str, *, has_workers: bool | None = None) -> None:
        """``has_workers``: for a target; None for a source."""
        self._path = folder
        self._spider = spider
        self._jobdir = Jobdir(folder)
        self.folder = folder
        self.name = f"the crawl in {folder}"
        self._has_workers = has_workers
        self._crawl: StoredCrawl | None = None

    @property
    def crawl(self) -> StoredCrawl:
        if self._crawl is None:
            technology = technology_in(self._path)
            self._crawl = None if technology is None else select_crawl_in(self._path, technology)
            if self._crawl is None:
                raise NoSuchCrawl(f"{self._path} is no crawl that can be moved: its state is not there")
        return self._crawl

    def mark(self) -> MoveMark | None:
        return read_mark(self._path)

    def set_mark(self, mark: MoveMark | None) -> None:
        if self._has_workers or (mark is not None and mark.state is MoveState.ARRIVED):
            self.crawl.set_move_mark(mark)
        else:
            write_mark(self._path, mark)

    def is_occupied(self) -> bool:
        return self._path.exists() and (not self._path.is_dir() or any(self._path.iterdir()))

    @contextmanager
    def held(self, to: str) -> Iterator[None]:
        self._jobdir.hold()
        try:
            yield
        finally:
            self._jobdir.leave()

    def clear(self, mark: MoveMark) -> None:
        try:
            self._path.mkdir(mode=OWNERS, parents=True, exist_ok=True)
            write_mark(self._path, mark)
            self._crawl = None
            files = {spec.file for spec in TABLES} | {Path(str(self._database)).stem}
            for path in self._path.iterdir():
                if path.name.partition(".")[0] in files and ".db" in path.name:
                    path.unlink()
            for name in (LEARNED, SEED_ADDRESSES):
                (self._path / name).unlink(missing_ok=True)
        except OSError as error:
            raise JobdirUnusable(f"{self._path} cannot be used: {error.strerror or error}") from error
        if self._has_workers:
            # A server for this folder begins with nothing.
            self._jobdir.belongs_to(self._spider)
            self.settings()
            with suppress(NoSuchCrawl):
                assert isinstance(self.crawl, SharedCrawl)
                self.crawl.remove()

    @property
    def _database(self) -> str:
        return str(technology_named(DEFAULT).frontier_file)

    def settings(self) -> dict[str, Any]:
        if self._has_workers:
            keeping = next(one for one in technologies() if one.keeper is not None)
            keeping.refuse_without_server()
            return {"JOBDIR": None, **keeping.server_settings(self._path, start=True)}
        return {"FRONTIER_BACKEND": DEFAULT, "JOBDIR": str(self._path), "REDIS_URL": None}

    def settle(self) -> None:
        if self._has_workers:
            time.sleep(DURABLE_SECONDS)
            return
        self._jobdir.belongs_to(self._spider)
        try:
            for path in (*self._path.iterdir(), self._path):
                if path.is_file() or path == self._path:
                    opened = os.open(path, os.O_RDONLY)
                    try:
                        os.fsync(opened)
                    finally:
                        os.close(opened)
        except OSError as error:
            raise JobdirUnusable(f"{self._path} cannot be used: {error.strerror or error}") from error

    def start_words(self) -> str:
        workers = " and WORKERS, 2 or more" if self._has_workers else ""
        return f"give the crawl's command with -s JOBDIR={self._path}{workers}; it needs no seeds"


class ServerEnd(MoveEnd):
    """A server that any number of workers share."""

    def __init__(
        self,
        settings: BaseSettings,
        url: str,
        spider: str,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """``say`` gets sentences for the user meanwhile."""
        self._url = url
        self._say = say
        own = settings.copy()
        own.frozen = False
        own.setdict({"FRONTIER_BACKEND": None, "REDIS_URL": url}, priority="cmdline")
        crawl = require_crawl(own, spider)
        assert isinstance(crawl, SharedCrawl)
        self._shared = crawl
        self.name = crawl.name

    @property
    def crawl(self) -> SharedCrawl:
        return self._shared

    def mark(self) -> MoveMark | None:
        try:
            return self._shared.move_mark()
        except NoSuchCrawl:
            return None

    def is_occupied(self) -> bool:
        try:
            self._shared.status()
        except NoSuchCrawl:
            return False
        return True

    @contextmanager
    def held(self, to: str) -> Iterator[None]:
        holder, ended = f"{to}\n{uuid4().hex}", threading.Event()
        if other := self._shared.keep_still(holder, STILL_SECONDS):
            raise CrawlError(f"{self.name} is just being moved to {other}")
        renewer = threading.Thread(target=self._renew, args=(holder, ended), daemon=True)
        renewer.start()
        try:
            self.refuse_workers()
            yield
            self.refuse_workers()
        finally:
            ended.set()
            renewer.join()
            with suppress(CrawlError):
                self._shared.end_stillness(holder)

    def _renew(self, holder: str, ended: threading.Event) -> None:
        while not ended.wait(RENEW_SECONDS):
            with suppress(CrawlError):
                self._shared.keep_still(holder, STILL_SECONDS)

    def refuse_workers(self) -> None:
        """Return when no worker has a lease any more: one that was killed has not left. :raises CrawlError: one
        runs"""
        heard: dict[str, float] = {}
        while workers := self._shared.running_workers():
            for worker in workers:
                if worker.heartbeat_at > heard.get(worker.name, worker.heartbeat_at):
                    raise CrawlError(f"{self.name} is running ({worker.name}); stop it first: scrapy stop")
            if not heard:
                names = ", ".join(sorted({worker.name for worker in workers}))
                self._say(f"waiting for the lease of {names} on {self.name} to end")
            heard |= {worker.name: worker.heartbeat_at for worker in workers}
            time.sleep(SILENCE_POLL_SECONDS)

    def clear(self, mark: MoveMark) -> None:
        with suppress(NoSuchCrawl):
            self.refuse_workers()
            self._shared.remove()

    def settings(self) -> dict[str, Any]:
        return {"FRONTIER_BACKEND": None, "JOBDIR": None, "REDIS_URL": self._url}

    def settle(self) -> None:
        time.sleep(DURABLE_SECONDS)

    def start_words(self) -> str:
        return "start its workers with this REDIS_URL, each with a new JOBDIR; they need no seeds"


# -- the move ------------------------------------------------------------------------------------------------------


class CrawlMove:
    """The move of a crawl. Its methods may raise CrawlError."""

    def __init__(self, settings: BaseSettings, source: MoveEnd, target: MoveEnd, spider: str) -> None:
        self._source = source
        self._target = target
        self._spider = spider
        self._settings = settings

    def carry_out(self) -> Iterator[str]:
        """Move; yield lines for the user. :raises MoveDisagrees: the copy is not what the source has"""
        source, target = self._source, self._target
        left = source.mark()
        if left is not None and left.state is MoveState.MOVED:
            yield from self._complete(left)
            return
        if left is not None:
            left.refuse(source.name)
        self._refuse_target(left)
        mark = MoveMark.begin(source.name)
        with source.held(target.name):
            copied = self._copy(mark)
            target.settle()
            self._compare(copied)
            source.set_mark(mark.left(target.name))
            try:
                if isinstance(source, ServerEnd):
                    source.refuse_workers()
            except CrawlError:
                source.set_mark(left)
                raise
            target.set_mark(mark.arrived())
        yield from copied.lines()
        yield from self._last_lines()

    def _last_lines(self) -> Iterator[str]:
        yield f"{self._source.name} is moved to {self._target.name}"
        if self._source.folder is not None:
            yield f"its graphs, archive and logs stay in {self._source.folder}"
        yield self._target.start_words()

    def _complete(self, left: MoveMark) -> Iterator[str]:
        """Complete a move that was interrupted when all was copied."""
        there = self._target.mark()
        if there is None or there.move != left.move or there.state is not MoveState.ARRIVING:
            left.refuse(self._source.name)
            return
        self._target.set_mark(there.arrived())
        yield from self._last_lines()

    def _refuse_target(self, came: MoveMark | None) -> None:
        """Refuse a target with another crawl. One that this crawl has left is taken, and one with a copy that was not
        completed. ``came``: the mark of the source."""
        there = self._target.mark()
        if there is not None and there.state is MoveState.ARRIVING:
            return
        if (
            there is not None
            and there.state is MoveState.MOVED
            and came is not None
            and came.move == there.move
        ):
            return
        if self._target.is_occupied():
            raise CrawlError(f"{self._target.name} exists; give another place, which is empty")

    # -- copying ---------------------------------------------------------------------------------------------

    def _copy(self, mark: MoveMark) -> Copied:
        source = self._source.crawl
        workers = source.read_store(SteeringStore, SteeringStore.workers)
        settings = settings_of_crawl(self._settings, workers).copy()
        settings.frozen = False
        # As the crawl has it, whatever the limit is: nothing is pruned.
        settings.setdict({"FRONTIER_QUEUE_MAX": 0}, priority="cmdline")
        arguments = SimpleNamespace(**arguments_of_crawl(workers))
        with source.whole() as whole:
            choices = CrawlRules(Configuration.from_settings(settings))
            self._refuse(whole, identity_settings(Configuration.from_settings(settings), choices))
            self._target.clear(mark)
            settings.setdict(self._target.settings(), priority="cmdline")
            configuration = Configuration.from_settings(settings)
            folder = configuration.jobdir
            backend, _ = build_backend(
                configuration,
                CrawlRules(configuration),
                settings,
                folder,
                self._spider,
                arguments,
                arriving=mark.packed(),
            )
            with asyncio.Runner() as runner, _Copy(runner, backend, whole) as copy:
                if named := source.named_hosts():
                    copy.name_hosts(named, folder)
                copy.hosts()
                copy.rest()
                for learner, focus in source.learners():
                    copy.learner(learner, focus, folder)
                return copy.copied

    def _refuse(self, whole: WholeCrawl, identity: dict[str, str]) -> None:
        if not whole.states_kept:
            raise CrawlError(
                f"{self._source.name} cannot be moved: a Bloom filter cannot list what it has seen"
            )
        for name, here in identity.items():
            if (there := whole.begun_with.get(name, here)) != here:
                raise JobdirUnusable(
                    f"{self._source.name} was begun with {name}={there}, not {here}; give -s {name}=..."
                )

    def _compare(self, copied: Copied) -> None:
        """:raises MoveDisagrees: the target has not what the source has"""
        with self._source.crawl.whole() as whole:
            there, robots = whole.counts(), whole.robots_count()
        with self._target.crawl.whole() as whole:
            here = whole.counts()
            found = {
                "answers of robots.txt": (robots, whole.robots_count()),
                **{
                    f"rows of {spec.name}": (copied.rows[spec.name], whole.row_count(spec)) for spec in TABLES
                },
            }
        found |= _numbers(there, here)
        # What the frontier queues for itself is not copied.
        found["queued URLs"] = (copied.queued, here.queued)
        found |= {
            f"{name} URLs, as read": (number, getattr(here, name)) for name, number in copied.settled.items()
        }
        if wrong := [f"{name}: {one} and {other}" for name, (one, other) in found.items() if one != other]:
            raise MoveDisagrees(
                f"the copy has not what {self._source.name} has, which stays where it is ({'; '.join(wrong)})"
            )
        checked = self._target.crawl.check()
        if not checked.agrees:
            raise MoveDisagrees(
                f"the copy does not agree with itself ({sum(checked.left.counts.values())} things); "
                f"{self._source.name} stays where it is"
            )


def _numbers(one: Counts, other: Counts) -> dict[str, tuple[int, int]]:
    names = {"done": "done URLs", "failed": "failed URLs", "refused": "refused URLs", "hosts": "hosts"}
    return {words: (getattr(one, name), getattr(other, name)) for name, words in names.items()}


class _Copy:
    """Copies what a storage keeps to a backend."""

    def __init__(self, runner: asyncio.Runner, backend: Backend, whole: WholeCrawl) -> None:
        self._run = runner.run
        self._backend = backend
        self._whole = whole
        self._tables: dict[TableSpec, Table] = {spec: backend.tables.table(spec) for spec in TABLES}
        self._renewed_at = time.monotonic()
        self.copied = Copied()
        self._settled: list[tuple[str, int, UrlRecord]] = []
        self._queued: list[UrlEntry] = []
        self._hosts: list[HostRecord] = []

    def __enter__(self) -> _Copy:
        self._run(self._backend.open(time.time()))
        return self

    def __exit__(self, *error: object) -> None:
        self._run(self._backend.close())

    def name_hosts(self, named: Any, folder: Path | None) -> None:
        if isinstance(self._backend, SharedBackend):
            self._run(self._name_shared(self._backend, named))
        elif folder is not None:
            self._run(_name_kept(KeptSeeds(folder), named))

    async def _name_shared(self, backend: SharedBackend, named: Any) -> None:
        await backend.allow_hosts(list(named))
        for name, addresses in named.items():
            if addresses:
                await backend.first_addresses(name, addresses)

    def hosts(self) -> None:
        """Copy all hosts, each with its URLs."""
        for record in self._whole.hosts(time.time()):
            for known in self._whole.settled(record.key, AT_ONCE):
                self._settled += [(record.key, fingerprint, one) for fingerprint, one in known]
                self.copied.settled.update(one.state.name.lower() for _, one in known)
                self._step()
            for entries in self._whole.queue(record.key, AT_ONCE):
                self._queued += entries
                self.copied.queued += len(entries)
                self._step()
            self._hosts.append(record)
            self.copied.hosts += 1
            self._step()
        self._run(self._flush())

    def _step(self) -> None:
        if len(self._settled) + len(self._queued) >= TOGETHER or len(self._hosts) >= HOSTS_TOGETHER:
            self._run(self._flush())

    async def _flush(self) -> None:
        await self._renew()
        settled, self._settled = self._settled, []
        queued, self._queued = self._queued, []
        hosts, self._hosts = self._hosts, []
        if settled:
            # Only the fingerprints are left of them: they are queued for a moment, and settled at once.
            entries = [
                UrlEntry(f"http://{key}/", key, fingerprint, position=number)
                for number, (key, fingerprint, _) in enumerate(settled)
            ]
            await self._commit(Batch(discovered=entries))
            results = [Settled(entry, one) for entry, (_, _, one) in zip(entries, settled, strict=True)]
            await self._commit(Batch(settled=results))
        if queued:
            await self._commit(Batch(discovered=queued))
        if not hosts:
            return
        # Their clocks hold from the first moment on at which a worker could contact them.
        now = time.time()
        held = await asyncio.gather(
            *(self._backend.acquire_key(record.key, now, given_up=True) for record in hosts)
        )
        records = []
        for record, active in zip(hosts, held, strict=True):
            if not isinstance(active, Activated):
                raise StorageAway(
                    f"{printable(record.key)} is held by another process; give the command again"
                )
            records.append(replace(record, fence=active.record.fence))
        await self._backend.release_keys(records)

    async def _commit(self, batch: Batch) -> None:
        committed = await self._backend.commit(batch)
        if committed.turned_away:
            raise StorageFull("the storage has no room for the URLs; give the command again when it has")

    async def _renew(self) -> None:
        now = time.monotonic()
        if (
            isinstance(self._backend, SharedBackend)
            and now - self._renewed_at >= self._backend.heartbeat_seconds
        ):
            self._renewed_at = now
            await self._backend.heartbeat({})

    def rest(self) -> None:
        """Copy robots.txt, figures, and the tables of features."""
        for answers in self._whole.robots(AT_ONCE):
            self._run(self._commit(Batch(robots=list(answers))))
            self.copied.robots += len(answers)
        for counted in self._whole.counted():
            self._run(self._commit(Batch(counted=counted)))
        for spec, table in self._tables.items():
            self.copied.rows[spec.name] = self._whole.row_count(spec)
            changes: list[Change] = []
            for change in self._whole.rows(spec, AT_ONCE):
                changes.append(change)
                if len(changes) >= CHANGES_TOGETHER or len(change.put) >= AT_ONCE:
                    self._run(self._update(table, changes))
                    changes = []
            self._run(self._update(table, changes))

    async def _update(self, table: Table, changes: Sequence[Change]) -> None:
        await self._renew()
        if changes:
            await table.update(changes)

    def learner(self, learner: Any, focus: str, folder: Path | None) -> None:
        """Copy what a focused crawl has learned."""
        # Few crawls are focused.
        from webcrawl.features.focus.learner import Learner
        from webcrawl.features.focus.store import LearnerFile

        if isinstance(self._backend, SharedBackend):
            store: Any = self._backend.learner_store(focus)
            self._run(store.begin(Learner()))
        else:
            assert folder is not None
            store = LearnerFile(folder, focus)
        self._run(store.step(learner, time.monotonic(), last=True))
        self.copied.learned += learner.weights.learned


async def _name_kept(seeds: KeptSeeds, named: Any) -> None:
    await seeds.tell(list(named))
    for name, addresses in named.items():
        if addresses:
            await seeds.first(name, addresses)
