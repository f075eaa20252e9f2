"""The crawl of one process in its JOBDIR, for commands."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.control import Result, Store, blocking
from webcrawl.control.operating import demand_of, operate, this_operator
from webcrawl.crawl import exclusion_state
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import read_kept
from webcrawl.errors import CrawlError, JobdirUnusable
from webcrawl.features.steering.store import Operation, SteeringStore
from webcrawl.features.timeseries.reading import Series
from webcrawl.features.timeseries.store import Latest, SeriesStore
from webcrawl.frontier.records import UrlEntry
from webcrawl.politeness.host_record import Pauses
from webcrawl.reports import run_log
from webcrawl.scope.private import names_that_allow
from webcrawl.storage.inspection import (
    Activity,
    CheckResult,
    CrawlStatus,
    Demand,
    ExclusionImpact,
    HostSummary,
    UrlSelection,
    UrlSnapshot,
    UrlStateReader,
    Use,
    WholeCrawl,
    Worker,
)
from webcrawl.storage.tables import Tables
from webcrawl.storage.technology import Technology

if TYPE_CHECKING:
    from webcrawl.features.focus.learner import Learner


class LocalCrawl:
    """Reads the state of the crawl, also while it runs. Only ``repair`` changes it; the crawl must not be running."""

    is_shared = False
    """True if several processes can work on it."""

    def __init__(self, folder: Path, storage: Technology) -> None:
        self._jobdir = Jobdir(folder)
        self._technology = storage
        self._frontier = storage.inspect_folder(folder)
        self.storage = storage.name
        """The name of the storage technology."""

    @property
    def name(self) -> str:
        """The name in text."""
        return f"the crawl in {self._jobdir.path}"

    @property
    def place(self) -> str:
        """The place in JSON."""
        return str(self._jobdir.path)

    def status(self) -> CrawlStatus:
        found = replace(self._frontier.status(time.time()), demand=self._demand())
        holder = self._jobdir.holder()
        if holder is None:
            return found
        heartbeat_at = self._jobdir.heartbeat_at() or found.now
        worker = Worker(holder, None, heartbeat_at, {"active": found.active_hosts})
        latest = self._latest()
        if latest is not None and holder == f"process {latest.process}":
            worker = replace(worker, started_at=latest.begun_at, figures=latest.figures, latest_at=latest.at)
        return replace(found, workers=[worker])

    def _latest(self) -> Latest | None:
        """Return what the process published last; None if it publishes nothing, or that cannot be read now."""
        try:
            found = self.read_store(SeriesStore, SeriesStore.latest)
        except CrawlError:
            return None
        return found[0] if found else None

    def series(self, names: Sequence[str], from_: float | None, to: float | None, points: int) -> Series:
        """Return time series; see ``SeriesStore.read``."""
        now = time.time()
        read = partial(SeriesStore.read, names=names, from_=from_, to=to, points=points, now=now)
        return self.read_store(SeriesStore, read)

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        """See ``FolderInspection.snapshot``; the process that works on the crawl holds the active keys."""
        found = self._frontier.snapshot(key_of, fingerprint, origin, time.time())
        found = replace(found, demand=self._demand())
        holder = self._jobdir.holder()
        if holder is None:
            return found
        key = found.key
        if key is not None and key.activity is Activity.ACTIVE:
            key = replace(key, holder=holder)
        return replace(found, key=key, running_workers=(holder,))

    def named(self, host: str) -> bool:
        """Return True if ``host`` is a host that the operator named, or a subdomain of one."""
        return not read_kept(self._jobdir.path / SEED_ADDRESSES).keys().isdisjoint(names_that_allow(host))

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        """Return the state of shared clocks: none, since the process keeps them in memory; its log has them."""
        return {}

    def check(self, progress: Callable[[int, int], None] | None) -> CheckResult:
        return self._frontier.check()

    def hosts(self) -> Iterator[Sequence[HostSummary]]:
        """Yield all politeness keys, some at a time, each of its own moment."""
        return self._frontier.hosts()

    def queue(self, key: str, most: int) -> list[UrlEntry]:
        """Return the first entries of the queue of a politeness key; none for an unknown one."""
        return self._frontier.queue(key, most)

    def url_states(self) -> AbstractContextManager[UrlStateReader]:
        """Return the states of its URLs."""
        return self._frontier.url_states()

    def impact(self, selection: UrlSelection) -> ExclusionImpact:
        """Return the effect of an exclusion on its queues."""
        return self._frontier.impact(selection)

    def look(self) -> list[Worker]:
        """Make the process that works on it, if there is one, read its exclusion file now; return that process.

        :raises webcrawl.errors.JobdirUnusable: the request cannot be written
        """
        if not self.running_workers():
            return []
        try:
            exclusion_state.request_read(self._jobdir.path)
        except OSError as error:
            raise JobdirUnusable(
                f"the crawl in {self._jobdir.path} cannot be notified: {error.strerror or error}"
            ) from error
        return self.running_workers()

    @blocking
    async def read_store(
        self, store: Callable[[Tables], Store], read: Callable[[Store], Awaitable[Result]]
    ) -> Result:
        """Return what ``read`` gives for the store of a feature, which ``store`` makes of the crawl's tables.

        :raises webcrawl.errors.JobdirUnusable: it is no crawl, or its tables cannot be read
        """
        async with self._store(store) as opened:
            return await read(opened)

    @blocking
    async def change_store(
        self, store: Callable[[Tables], Store], change: Callable[[Store, float], Awaitable[Result]]
    ) -> Result:
        """Return what ``change`` gives for the store of a feature and the time by the crawl's clock (epoch seconds).
        The crawl may be running.

        :raises webcrawl.errors.JobdirUnusable: it is no crawl, or its tables cannot be used
        """
        async with self._store(store, changing=True) as opened:
            return await change(opened, time.time())

    @asynccontextmanager
    async def _store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AsyncIterator[Store]:
        self._is_crawl()
        tables = self._frontier.tables(changing=changing)
        opened = store(tables)
        await tables.open()
        try:
            yield opened
        finally:
            await tables.close()

    def _is_crawl(self) -> None:
        if not self._technology.is_begun_in(self._jobdir.path):
            name = self._technology.frontier_file
            raise JobdirUnusable(f"{self._jobdir.path} is no crawl with a frontier on disk: it has no {name}")

    def whole(self) -> AbstractContextManager[WholeCrawl]:
        """Open all that is kept of the crawl."""
        return self._frontier.whole()

    def learner(self) -> Learner | None:
        """Return the trained model of link scores; None if the crawl is not focused."""
        # Few crawls are focused.
        from webcrawl.features.focus import store as learned
        from webcrawl.features.focus.learner import Learner

        try:
            saved = learned.read(self._jobdir.path / learned.NAME)
            if saved is None:
                return None
            learner = Learner()
            learner.restore(saved.pack())
            return learner
        except (OSError, ValueError) as error:
            raise JobdirUnusable(f"{self._jobdir.path / learned.NAME}: {error}") from error

    def running_workers(self) -> list[Worker]:
        """Return the process that works on it, if there is one, with the exclusion list that it applies."""
        holder = self._jobdir.holder()
        if holder is None:
            return []
        state = exclusion_state.read(self._jobdir.path)
        version = state.version if state is not None and holder == f"process {state.process}" else ""
        heartbeat_at = self._jobdir.heartbeat_at() or time.time()
        return [Worker(holder, None, heartbeat_at, exclusions=version, process=_number_of(holder))]

    def silent_workers(self) -> list[Worker]:
        """Return no process: one that hangs holds the folder, and counts as running."""
        return []

    def command(
        self,
        command: Operation,
        *,
        tell: Callable[[str], None],
        arguments: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        by: str | None = None,
    ) -> bool:
        """Give a command to the process that works on it; see ``operating.operate``. A pause lasts until a resume or
        a stop, also if the process is started again meanwhile.

        :raises webcrawl.control.operating.NotObeyed: the process does not obey, or could not carry it out
        :raises webcrawl.errors.JobdirUnusable: it is no crawl, or the command cannot be written
        """
        self._is_crawl()
        try:
            runs = run_log.read(self._jobdir.path)
        except OSError:
            runs = []
        last = runs[-1] if runs else None
        run = None if last is None else (last.version, last.begun_at)
        who = by or this_operator()
        return operate(self, command, who, tell, arguments=arguments, seconds=seconds, run=run)

    def _demand(self) -> Demand:
        """Return what operators want; that it runs, if it cannot be read."""
        with suppress(CrawlError):
            return demand_of(self.read_store(SteeringStore, lambda store: store.numbers()))
        return Demand.RUN

    def repair(self, progress: Callable[[int, int], None] | None) -> CheckResult:
        """:raises webcrawl.errors.JobdirLocked: the crawl runs"""
        # Before the lock, which would create the folder.
        self._is_crawl()
        self._jobdir.hold()
        try:
            return self._frontier.repair()
        finally:
            self._jobdir.leave()


def _number_of(holder: str) -> int:
    """Return the number of the process that holds a folder; 0 if it has written none."""
    number = holder.removeprefix("process ")
    return int(number) if number.isdigit() else 0
