"""A crawl on Redis, with any number of workers, for commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from webcrawl.control import blocking
from webcrawl.features.revisits.store import Lookup
from webcrawl.reports import text
from webcrawl.scope.private import names_that_allow
from webcrawl.storage.contract import OperatorCommand
from webcrawl.storage.redis.check import Audit
from webcrawl.storage.redis.clocks import uses_of
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.inspection import RedisBooks, reach_of, sighting_of
from webcrawl.storage.redis.learned import learner_of
from webcrawl.storage.redis.subscriptions import RedisSubscriptions
from webcrawl.storage.redis.traps import RedisTraps
from webcrawl.storage.redis.visits import RedisVisits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from webcrawl.features.focus.learner import Learner
    from webcrawl.features.traps.quarantine import Trap
    from webcrawl.features.websub.subscription import Subscription
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.inspection import (
        Asked,
        Checked,
        CrawlStatus,
        ExclusionImpact,
        Known,
        UrlSnapshot,
        Use,
        Worker,
    )


@contextmanager
def shared_books(control: Control) -> Iterator[SharedBooks]:
    """Open ``control`` and read with it. Any access to Redis may raise a CrawlError."""
    with asyncio.Runner() as runner:
        runner.run(control.open())
        try:
            yield SharedBooks(runner, RedisBooks(control))
        finally:
            runner.run(control.close())


class SharedBooks:
    """``UrlStateReader`` with blocking methods."""

    states_kept = True

    def __init__(self, runner: asyncio.Runner, books: RedisBooks) -> None:
        self._runner = runner
        self._books = books

    def queued(self) -> Iterator[UrlEntry]:
        entries = self._books.queued()
        while (entry := self._runner.run(anext(entries, None))) is not None:
            yield entry

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        return self._runner.run(self._books.known(key, fingerprints))

    def refused(self) -> Iterator[Sequence[int]]:
        some = self._books.refused()
        while (marks := self._runner.run(anext(some, None))) is not None:
            yield marks


LOOK_SECONDS = 0.5
"""Seconds between two checks of whether workers have obeyed."""


class SharedCrawl:
    """Opens a connection for each query. Every method raises a CrawlError if there is no such crawl."""

    storage = "redis"

    def __init__(
        self, params: Mapping[str, Any], spider: str, lease_seconds: float, delay_seconds: float
    ) -> None:
        """See ``Control`` and ``Audit``."""
        self._params = params
        self._spider = spider
        self._lease_seconds = lease_seconds
        self._delay_seconds = delay_seconds
        self.place = ""
        """The place in JSON; known after the first connection."""

    @property
    def name(self) -> str:
        """The name in text."""
        return f"{self._spider} on Redis at {self.place}"

    @asynccontextmanager
    async def _control(self) -> AsyncIterator[Control]:
        control = Control(self._params, self._spider, self._lease_seconds)
        self.place = control.server.address
        await control.open()
        try:
            yield control
        finally:
            await control.close()

    # -- looking ---------------------------------------------------------------------------------------------

    @blocking
    async def standing(self) -> CrawlStatus:
        async with self._control() as control:
            return await control.standing()

    @blocking
    async def sighting(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        """See ``storage.redis.inspection.sighting_of``."""
        async with self._control() as control:
            return await sighting_of(control, key_of, fingerprint, origin)

    @blocking
    async def visits(self, key: str, fingerprint: int) -> Lookup:
        """Return the stored visits of a page."""
        async with self._control() as control:
            store = RedisVisits(control.server, lambda: control.shards)
            [page] = await store.find([(key, fingerprint)])
            if page is None:
                return Lookup()
            standing = await store.standing(await control.now())
            return Lookup(page, tuple((await store.lessons()).values()), standing.pages)

    @blocking
    async def named(self, host: str) -> bool:
        """Return True if ``host`` is a host that the operator named, or a subdomain of one."""
        async with self._control() as control:
            return await control.seeded(names_that_allow(host))

    @blocking
    async def uses(self, pauses: Pauses) -> dict[str, Use]:
        """Return the state of the shared clocks that are in use, or were lately."""
        async with self._control() as control:
            return await uses_of(control.server, control.shards[0], pauses, await control.now())

    def check(self, progress: Callable[[int, int], None] | None) -> Checked:
        return self._audited(progress, Audit.check)

    def books(self) -> AbstractContextManager[SharedBooks]:
        """Return the states of its URLs."""
        control = Control(self._params, self._spider, self._lease_seconds)
        self.place = control.server.address
        return shared_books(control)

    @blocking
    async def reach(self, asked: Asked) -> ExclusionImpact:
        """Return the effect of an exclusion on its queues."""
        async with self._control() as control:
            return await reach_of(control, asked)

    def mend(self, progress: Callable[[int, int], None] | None) -> Checked:
        """:raises webcrawl.errors.StartRefused: workers are running"""
        return self._audited(progress, Audit.mend)

    @blocking
    async def _audited(
        self, progress: Callable[[int, int], None] | None, work: Callable[[Audit], Awaitable[Checked]]
    ) -> Checked:
        async with self._control() as control:
            return await work(
                Audit(control, self._delay_seconds, progress=progress or (lambda done, total: None))
            )

    def traps(self) -> list[Trap]:
        """Return all patterns that are or were in quarantine."""
        return self._traps(())

    def release_traps(self, patterns: Sequence[str]) -> list[Trap]:
        """Release patterns and return all as they are then. Running workers queue the withheld URLs."""
        return self._traps(patterns)

    @blocking
    async def _traps(self, release: Sequence[str]) -> list[Trap]:
        async with self._control() as control:
            store = RedisTraps(control.server, control.spider)
            if release:
                await store.release(release, await control.now())
            return await store.traps()

    @blocking
    async def learner(self) -> Learner | None:
        """Return the shared model of link scores; None if the crawl is not focused."""
        async with self._control() as control:
            return await learner_of(control.server, control.spider)

    @blocking
    async def subscriptions(self) -> list[Subscription]:
        """Return all subscriptions at hubs."""
        async with self._control() as control:
            store = RedisSubscriptions(control.server, control.spider)
            return await store.some("", await store.count())

    # -- commanding ------------------------------------------------------------------------------------------

    @blocking
    async def command(self, command: OperatorCommand, *, wait: bool, tell: Callable[[str], None]) -> None:
        """Send a command to all workers. ``tell`` is called with sentences on the outcome; with ``wait`` until all
        have obeyed.
        """
        async with self._control() as control:
            workers, silent = await self._workers(control)
            if command is OperatorCommand.STOP and not workers and not silent:
                tell(f"{self.name}: nobody is at work, there is nothing to stop")
                return
            before = await control.command(command)
            tell(f"{self.name} {_said(command, before, workers)}")
            if wait and workers:
                silent = await self._until_obeyed(control, command)
                tell(_OBEYED[command])
            if silent:
                tell(f"not heard of for a while, and not waited for: {_names(silent)}")

    @blocking
    async def look(self) -> list[Worker]:
        """Make all workers with recent heartbeats read their exclusion files now; return these workers."""
        async with self._control() as control:
            await control.look(uuid4().hex)
            heard, _ = await self._workers(control)
            return heard

    @blocking
    async def at_work(self) -> list[Worker]:
        """Return the workers with recent heartbeats."""
        async with self._control() as control:
            return (await self._workers(control))[0]

    async def _until_obeyed(self, control: Control, command: OperatorCommand) -> list[Worker]:
        """Wait for all workers with recent heartbeats; return the silent ones."""
        while True:
            workers, silent = await self._workers(control)
            if all(_obeys(command, worker) for worker in workers):
                return silent
            await asyncio.sleep(LOOK_SECONDS)

    async def _workers(self, control: Control) -> tuple[list[Worker], list[Worker]]:
        """Return the workers with heartbeats within the lease time, and those with heartbeats within twice the lease
        time.
        """
        now = await control.now()
        workers = await control.workers()
        ages = [now - worker.heard_at for worker in workers]
        heard = [worker for worker, age in zip(workers, ages, strict=True) if age < self._lease_seconds]
        silent = [
            worker
            for worker, age in zip(workers, ages, strict=True)
            if self._lease_seconds <= age < 2 * self._lease_seconds
        ]
        return heard, silent


def _obeys(command: OperatorCommand, worker: Worker) -> bool:
    paused = bool(worker.figures.get("paused"))
    if command is OperatorCommand.PAUSE:
        return paused and not worker.figures.get("open")
    # Stopped workers are not in the list any more.
    return command is OperatorCommand.RUN and not paused


def _said(command: OperatorCommand, before: OperatorCommand, workers: list[Worker]) -> str:
    """Describe the effect of the command on running workers and on those to be started."""
    there = f"{text.count(len(workers))} at work ({_names(workers)})" if workers else "nobody is at work"
    match command:
        case OperatorCommand.PAUSE if workers:
            what = "They finish what is open and begin nothing new until scrapy frontier resume."
            return f"{'was paused already' if before is command else 'is paused'}: {there}. {what}"
        case OperatorCommand.PAUSE:
            return f"is paused: {there}, and workers that are started wait for scrapy frontier resume"
        case OperatorCommand.STOP:
            what = "They finish what is open and end. Start workers again to go on with the crawl."
            return f"is stopped: {there}. {what}"
        case OperatorCommand.RUN if before is OperatorCommand.RUN:
            return f"was neither paused nor stopped: {there}"
        case OperatorCommand.RUN if before is OperatorCommand.STOP and workers:
            return f"is no longer stopped: {there}. Those who heard of the stop end all the same."
        case OperatorCommand.RUN if workers:
            return f"goes on: {there}"
        case _:
            return f"is to go on: {there}; start workers"


def _names(workers: Iterable[Worker]) -> str:
    return ", ".join(sorted(worker.name for worker in workers))


_OBEYED = {
    OperatorCommand.PAUSE: "all have paused, nothing is open",
    OperatorCommand.RUN: "all go on",
    OperatorCommand.STOP: "all have ended",
}
