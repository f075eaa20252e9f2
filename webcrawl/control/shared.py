"""A crawl that any number of workers share, for commands."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy.settings import BaseSettings

from webcrawl.config import Configuration
from webcrawl.control import Store, blocking
from webcrawl.control.operating import get_demand
from webcrawl.control.stored import StoredCrawl
from webcrawl.crawl.jobdir import SPIDER
from webcrawl.crawl.moved import read_mark, refuse_moved, write_mark
from webcrawl.errors import JobdirUnusable
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.reports.standing import LOST_LEASES, leases_missed
from webcrawl.scope.private import names_that_allow
from webcrawl.storage.move_mark import MoveState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from webcrawl.features.focus.learner import Learner
    from webcrawl.features.timeseries.store import Latest
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.inspection import (
        ControlConnection,
        CrawlStatus,
        SharedInspection,
        UrlSnapshot,
        Use,
        WholeCrawl,
        Worker,
    )
    from webcrawl.storage.move_mark import MoveMark
    from webcrawl.storage.tables import Tables
    from webcrawl.storage.technology import Technology


class SharedCrawl(StoredCrawl):
    """The crawl of any number of workers."""

    is_shared = True

    def __init__(self, storage: Technology, spider: str, inspection: Callable[[], SharedInspection]) -> None:
        """``inspection`` returns the inspection of the crawl; called once."""
        super().__init__(storage)
        self._spider = spider
        self._inspect = inspection
        self._inspected: SharedInspection | None = None

    @property
    def name(self) -> str:
        return f"{self._spider} on {self._inspection.place}"

    @property
    def place(self) -> str:
        return self._inspection.address

    @property
    def _inspection(self) -> SharedInspection:
        if self._inspected is None:
            self._inspected = self._inspect()
        return self._inspected

    # -- looking ---------------------------------------------------------------------------------------------

    @blocking
    async def status(self) -> CrawlStatus:
        async with self._inspection.connected() as control:
            found = await control.status()
            latest = await SeriesStore(control.tables).latest()
            workers = [_with_figures(worker, latest) for worker in found.workers]
            demand = get_demand(await SteeringStore(control.tables).numbers())
            return replace(found, workers=workers, demand=demand)

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        found = self._inspection.snapshot(key_of, fingerprint, origin)
        return replace(found, demand=get_demand(self.read_store(SteeringStore, SteeringStore.numbers)))

    def named(self, host: str) -> bool:
        return self._inspection.seeded(names_that_allow(host))

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        return self._inspection.uses(pauses)

    def learner(self) -> Learner | None:
        # Few crawls are focused.
        from webcrawl.features.focus.learner import Learner

        return self._inspection.learner(Learner)

    @asynccontextmanager
    async def _open_store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[float]]]]:
        async with self._inspection.connected() as control:
            if changing and (mark := await control.move_mark()) is not None:
                mark.refuse(self.name)
            yield store(control.tables), control.now

    # -- moving ----------------------------------------------------------------------------------------------

    def whole(self) -> AbstractContextManager[WholeCrawl]:
        return self._inspection.whole()

    def named_hosts(self) -> Mapping[str, Sequence[str]]:
        return self._inspection.named_hosts()

    def learners(self) -> Iterator[tuple[Learner, str]]:
        # Few crawls are focused.
        from webcrawl.features.focus.learner import Learner
        from webcrawl.features.focus.saved import unpack

        for learner, packed in self._inspection.learners(Learner):
            with suppress(ValueError):
                yield learner, unpack(packed).focus

    def move_mark(self) -> MoveMark | None:
        return self._inspection.move_mark()

    def set_move_mark(self, mark: MoveMark | None) -> None:
        self._inspection.set_move_mark(mark)

    def keep_still(self, holder: str, seconds: float) -> str | None:
        """See ``SharedInspection``."""
        return self._inspection.keep_still(holder, seconds)

    def end_stillness(self, holder: str) -> None:
        self._inspection.end_stillness(holder)

    def remove(self) -> None:
        """Delete all that is kept of the crawl."""
        self._inspection.remove()

    # -- commanding ------------------------------------------------------------------------------------------

    @blocking
    async def look(self) -> list[Worker]:
        async with self._inspection.connected() as control:
            await control.request_reload(uuid4().hex)
            return (await _workers(control))[0]

    @blocking
    async def running_workers(self) -> list[Worker]:
        async with self._inspection.connected() as control:
            return (await _workers(control))[0]

    @blocking
    async def silent_workers(self) -> list[Worker]:
        async with self._inspection.connected() as control:
            return (await _workers(control))[1]


class WorkersCrawl(SharedCrawl):
    """The crawl of several workers in one JOBDIR, whose server is there too. If it does not run, it is started for as
    long as this process needs it, or with ``starts`` False is away; it may also end with the crawl while a command
    waits."""

    def __init__(self, folder: Path, storage: Technology, *, starts: bool = True) -> None:
        """:raises CrawlError: the folder does not say which spider's crawl it is"""
        self._folder = folder
        self._starts = starts
        self._technology = storage
        super().__init__(storage, _spider_of(folder), self._reach)

    @property
    def name(self) -> str:
        return f"the crawl in {self._folder}"

    @property
    def place(self) -> str:
        return str(self._folder)

    def move_mark(self) -> MoveMark | None:
        return read_mark(self._folder)

    def set_move_mark(self, mark: MoveMark | None) -> None:
        # The server listens for this folder alone.
        if mark is not None and mark.state is MoveState.ARRIVED:
            self._inspection.set_move_mark(mark)
        write_mark(self._folder, mark)

    @asynccontextmanager
    async def _open_store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[float]]]]:
        if changing:
            refuse_moved(self._folder)
        async with super()._open_store(store, changing=changing) as opened:
            yield opened

    @property
    def _inspection(self) -> SharedInspection:
        return self._inspect()

    def _reach(self) -> SharedInspection:
        # Each question reaches it anew. A process that looks at crawls for days keeps no server running for them.
        reached = self._technology.server_settings(self._folder, start=self._starts, until_idle=True)
        settings = BaseSettings(dict(reached))
        return self._technology.inspect_shared(Configuration(), settings, self._spider)


def _spider_of(folder: Path) -> str:
    try:
        return (folder / SPIDER).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise JobdirUnusable(f"{folder / SPIDER} cannot be read: {error}") from error


async def _workers(control: ControlConnection) -> tuple[list[Worker], list[Worker]]:
    """Return the workers with heartbeats within their lease time, and those with heartbeats within two of them."""
    now = await control.now()
    heard, silent = [], []
    for worker in await control.workers():
        leases = leases_missed(worker, now)
        if leases < 1:
            heard.append(worker)
        elif leases < LOST_LEASES:
            silent.append(worker)
    return heard, silent


def _with_figures(worker: Worker, latest: Sequence[Latest]) -> Worker:
    """Return a worker with all figures that it published: its heartbeat has few of them."""
    mine = [one for one in latest if one.worker == worker.name]
    if not mine:
        return worker
    # After a restart under the same name, the figures of the process before may still be there.
    found = min(mine, key=lambda one: abs(one.begun_at - (worker.started_at or 0.0)))
    return replace(worker, figures={**worker.figures, **found.figures}, latest_at=found.at)
