"""A crawl that any number of workers share, for commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from webcrawl.control import Store, blocking
from webcrawl.control.operating import demand_of
from webcrawl.control.stored import StoredCrawl
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.reports.standing import LOST_LEASES, leases_missed
from webcrawl.scope.private import names_that_allow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from webcrawl.features.focus.learner import Learner
    from webcrawl.features.timeseries.store import Latest
    from webcrawl.frontier.records import UrlEntry, UrlRecord
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.inspection import (
        AsyncUrlStateReader,
        CheckResult,
        CrawlStatus,
        Demand,
        ExclusionImpact,
        HostSummary,
        SharedInspection,
        UrlSelection,
        UrlSnapshot,
        Use,
        Worker,
    )
    from webcrawl.storage.tables import Tables
    from webcrawl.storage.technology import Technology


@contextmanager
def shared_url_states(control: SharedInspection) -> Iterator[SharedUrlStateReader]:
    """Open ``control`` and read with it. Any access may raise a CrawlError."""
    with asyncio.Runner() as runner:
        runner.run(control.open())
        try:
            yield SharedUrlStateReader(runner, control.url_states())
        finally:
            runner.run(control.close())


class SharedUrlStateReader:
    """``UrlStateReader`` with blocking methods."""

    states_kept = True

    def __init__(self, runner: asyncio.Runner, reader: AsyncUrlStateReader) -> None:
        self._runner = runner
        self._reader = reader

    def queued(self) -> Iterator[UrlEntry]:
        parts = self._reader.queued()
        # A step of the event loop takes longer than reading an entry.
        while (entries := self._runner.run(anext(parts, None))) is not None:
            yield from entries

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, UrlRecord]:
        return self._runner.run(self._reader.known(key, fingerprints))

    def refused(self) -> Iterator[Sequence[int]]:
        some = self._reader.refused()
        while (marks := self._runner.run(anext(some, None))) is not None:
            yield marks


class SharedCrawl(StoredCrawl):
    """The crawl of any number of workers. It opens a connection for each query."""

    is_shared = True

    def __init__(
        self,
        storage: Technology,
        spider: str,
        inspection: Callable[[], SharedInspection],
    ) -> None:
        """``inspection`` returns a new one, not opened yet."""
        self.storage = storage.name
        self._spider = spider
        self._inspection = inspection
        self._address = self._where = ""

    @property
    def name(self) -> str:
        return f"{self._spider} on {self._where}"

    @property
    def place(self) -> str:
        return self._address

    def _new(self) -> SharedInspection:
        made = self._inspection()
        self._address, self._where = made.address, made.place
        return made

    @asynccontextmanager
    async def _control(self) -> AsyncIterator[SharedInspection]:
        control = self._new()
        await control.open()
        try:
            yield control
        finally:
            await control.close()

    # -- looking ---------------------------------------------------------------------------------------------

    @blocking
    async def status(self) -> CrawlStatus:
        async with self._control() as control:
            found = await control.status()
            latest = await SeriesStore(control.tables).latest()
            workers = [_with_figures(worker, latest) for worker in found.workers]
            return replace(found, workers=workers, demand=await _demand(control))

    @blocking
    async def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        async with self._control() as control:
            found = await control.snapshot(key_of, fingerprint, origin)
            return replace(found, demand=await _demand(control))

    @blocking
    async def named(self, host: str) -> bool:
        async with self._control() as control:
            return await control.seeded(names_that_allow(host))

    @blocking
    async def uses(self, pauses: Pauses) -> dict[str, Use]:
        async with self._control() as control:
            return await control.uses(pauses)

    @blocking
    async def check(self, progress: Callable[[int, int], None] | None) -> CheckResult:
        async with self._control() as control:
            return await control.check(progress or _unwatched)

    def hosts(self) -> Iterator[Sequence[HostSummary]]:
        control = self._new()
        with asyncio.Runner() as runner:
            runner.run(control.open())
            try:
                steps = control.hosts()
                while (found := runner.run(anext(steps, None))) is not None:
                    yield found
            finally:
                runner.run(control.close())

    @blocking
    async def queue(self, key: str, most: int) -> list[UrlEntry]:
        async with self._control() as control:
            return await control.queue(key, most)

    def url_states(self) -> AbstractContextManager[SharedUrlStateReader]:
        return shared_url_states(self._new())

    @blocking
    async def impact(self, selection: UrlSelection) -> ExclusionImpact:
        async with self._control() as control:
            return await control.impact(selection)

    @blocking
    async def repair(self, progress: Callable[[int, int], None] | None) -> CheckResult:
        async with self._control() as control:
            return await control.repair(progress or _unwatched)

    @blocking
    async def learner(self) -> Learner | None:
        # Few crawls are focused.
        from webcrawl.features.focus.learner import Learner

        async with self._control() as control:
            return await control.learner(Learner)

    @asynccontextmanager
    async def _open_store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AsyncIterator[tuple[Store, Callable[[], Awaitable[float]]]]:
        async with self._control() as control:
            yield store(control.tables), control.now

    # -- commanding ------------------------------------------------------------------------------------------

    @blocking
    async def look(self) -> list[Worker]:
        async with self._control() as control:
            await control.request_reload(uuid4().hex)
            heard, _ = await self._workers(control)
            return heard

    @blocking
    async def running_workers(self) -> list[Worker]:
        async with self._control() as control:
            return (await self._workers(control))[0]

    @blocking
    async def silent_workers(self) -> list[Worker]:
        async with self._control() as control:
            return (await self._workers(control))[1]

    async def _workers(self, control: SharedInspection) -> tuple[list[Worker], list[Worker]]:
        """Return the workers with heartbeats within their lease time, and those with heartbeats within twice that
        time.
        """
        now = await control.now()
        heard, silent = [], []
        for worker in await control.workers():
            leases = leases_missed(worker, now)
            if leases < 1:
                heard.append(worker)
            elif leases < LOST_LEASES:
                silent.append(worker)
        return heard, silent


async def _demand(control: SharedInspection) -> Demand:
    return demand_of(await SteeringStore(control.tables).numbers())


def _unwatched(done: int, total: int) -> None:
    """Take no notice of the progress of a check."""


def _with_figures(worker: Worker, latest: Sequence[Latest]) -> Worker:
    """Return a worker with all figures that it published: its heartbeat has few of them."""
    mine = [one for one in latest if one.worker == worker.name]
    if not mine:
        return worker
    # After a restart under the same name, the figures of the process before may still be there.
    found = min(mine, key=lambda one: abs(one.begun_at - (worker.started_at or 0.0)))
    return replace(worker, figures={**worker.figures, **found.figures}, latest_at=found.at)
