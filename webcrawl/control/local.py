"""The crawl of one process in its JOBDIR, for commands."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.control import Store
from webcrawl.control.operating import get_demand
from webcrawl.control.stored import StoredCrawl
from webcrawl.crawl import exclusion_state
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.moved import read_mark, refuse_moved, write_mark
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import read_kept
from webcrawl.errors import CrawlError, JobdirUnusable
from webcrawl.features.steering.store import Operation, SteeringStore
from webcrawl.features.timeseries.store import Latest, SeriesStore
from webcrawl.politeness.host_record import Pauses
from webcrawl.reports import run_log
from webcrawl.scope.private import names_that_allow
from webcrawl.storage.inspection import (
    Activity,
    CheckResult,
    CrawlStatus,
    Demand,
    FolderInspection,
    UrlSnapshot,
    Use,
    WholeCrawl,
    Worker,
)
from webcrawl.storage.move_mark import MoveMark
from webcrawl.storage.tables import Tables
from webcrawl.storage.technology import Technology

if TYPE_CHECKING:
    from webcrawl.features.focus.learner import Learner


class LocalCrawl(StoredCrawl):
    """The crawl in a JOBDIR. The process that works on it holds the folder."""

    is_shared = False

    def __init__(self, folder: Path, storage: Technology) -> None:
        super().__init__(storage)
        self._jobdir = Jobdir(folder)
        self._technology = storage

    @property
    def name(self) -> str:
        return f"the crawl in {self._jobdir.path}"

    @property
    def place(self) -> str:
        return str(self._jobdir.path)

    @cached_property
    def _inspection(self) -> FolderInspection:
        return self._technology.inspect_folder(self._jobdir.path)

    def status(self) -> CrawlStatus:
        found = replace(self._inspection.status(time.time()), demand=self._demand())
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

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        found = self._inspection.snapshot(key_of, fingerprint, origin, time.time())
        found = replace(found, demand=self._demand())
        holder = self._jobdir.holder()
        if holder is None:
            return found
        key = found.key
        if key is not None and key.activity is Activity.ACTIVE:
            key = replace(key, holder=holder)
        return replace(found, key=key, running_workers=(holder,))

    def named(self, host: str) -> bool:
        return not read_kept(self._jobdir.path / SEED_ADDRESSES).keys().isdisjoint(names_that_allow(host))

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        # The process keeps them in memory; its log has them.
        return {}

    def look(self) -> list[Worker]:
        if not self.running_workers():
            return []
        try:
            exclusion_state.request_read(self._jobdir.path)
        except OSError as error:
            raise JobdirUnusable(
                f"the crawl in {self._jobdir.path} cannot be notified: {error.strerror or error}"
            ) from error
        return self.running_workers()

    @asynccontextmanager
    async def _open_store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[float]]]]:
        self._is_crawl()
        if changing:
            refuse_moved(self._jobdir.path)
        tables = self._inspection.tables(changing=changing)
        # It names its tables before they are opened.
        opened = store(tables)
        await tables.open()
        try:
            yield opened, _now
        finally:
            await tables.close()

    def _is_crawl(self) -> None:
        if not self._technology.is_begun_in(self._jobdir.path):
            name = self._technology.frontier_file
            raise JobdirUnusable(f"{self._jobdir.path} is no crawl with a frontier on disk: it has no {name}")

    def whole(self) -> AbstractContextManager[WholeCrawl]:
        return self._inspection.whole()

    def named_hosts(self) -> Mapping[str, Sequence[str]]:
        return read_kept(self._jobdir.path / SEED_ADDRESSES)

    def learners(self) -> Iterator[tuple[Learner, str]]:
        # Few crawls are focused.
        from webcrawl.features.focus.store import load

        if (loaded := load(self._jobdir.path)) is not None:
            yield loaded

    def move_mark(self) -> MoveMark | None:
        return read_mark(self._jobdir.path)

    def set_move_mark(self, mark: MoveMark | None) -> None:
        write_mark(self._jobdir.path, mark)

    def learner(self) -> Learner | None:
        # Few crawls are focused.
        from webcrawl.features.focus.store import load

        loaded = load(self._jobdir.path)
        return None if loaded is None else loaded[0]

    def running_workers(self) -> list[Worker]:
        holder = self._jobdir.holder()
        if holder is None:
            return []
        state = exclusion_state.read(self._jobdir.path)
        version = state.version if state is not None and holder == f"process {state.process}" else ""
        heartbeat_at = self._jobdir.heartbeat_at() or time.time()
        return [Worker(holder, None, heartbeat_at, exclusions=version, process=_parse_number(holder))]

    def silent_workers(self) -> list[Worker]:
        # One that hangs holds the folder, and counts as running.
        return []

    def command(self, command: Operation, **how: Any) -> bool:
        self._is_crawl()
        return super().command(command, **how)

    def _last_run(self) -> tuple[str | None, float] | None:
        runs: list[run_log.Run] = []
        with suppress(OSError):
            runs = run_log.read(self._jobdir.path)
        return (runs[-1].version, runs[-1].begun_at) if runs else None

    def _demand(self) -> Demand:
        """Return what operators want; that it runs, if it cannot be read."""
        with suppress(CrawlError):
            return get_demand(self.read_store(SteeringStore, lambda store: store.numbers()))
        return Demand.RUN

    def repair(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        """:raises webcrawl.errors.JobdirLocked: the crawl runs"""
        # Before the lock, which would create the folder.
        self._is_crawl()
        self._jobdir.hold()
        try:
            return super().repair(progress)
        finally:
            self._jobdir.leave()


async def _now() -> float:
    return time.time()


def _parse_number(holder: str) -> int:
    """Return the number of the process that holds a folder; 0 if it has written none."""
    number = holder.removeprefix("process ")
    return int(number) if number.isdigit() else 0
