"""A stored crawl as other processes see it, whichever technology stores it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.control import Result, Store, blocking
from webcrawl.control.operating import operate, this_operator
from webcrawl.features.timeseries.store import SeriesStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from webcrawl.features.focus.learner import Learner
    from webcrawl.features.steering.store import Operation
    from webcrawl.features.timeseries.reading import Series
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.inspection import (
        CheckResult,
        CrawlStatus,
        ExclusionImpact,
        HostSummary,
        Inspection,
        UrlSelection,
        UrlSnapshot,
        UrlStateReader,
        Use,
        WholeCrawl,
        Worker,
    )
    from webcrawl.storage.move_mark import MoveMark
    from webcrawl.storage.tables import Tables
    from webcrawl.storage.technology import Technology


class StoredCrawl(ABC):
    """Reads the state of a crawl, also while it runs, and gives commands to its processes. Only ``repair`` and the
    stores of features change it. All methods block, and may raise a CrawlError: there is no such crawl, or it cannot
    be read.
    """

    is_shared: ClassVar[bool]
    """True if several processes can work on it."""

    def __init__(self, storage: Technology) -> None:
        self.storage = storage.name
        """The name of the storage technology."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in text."""

    @property
    @abstractmethod
    def place(self) -> str:
        """The place in JSON."""

    @property
    @abstractmethod
    def _inspection(self) -> Inspection: ...

    # -- looking ---------------------------------------------------------------------------------------------

    @abstractmethod
    def status(self) -> CrawlStatus: ...

    @abstractmethod
    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        """Return the snapshot of one URL; see ``FolderInspection.snapshot``."""

    @abstractmethod
    def named(self, host: str) -> bool:
        """Return True if ``host`` is a host that the operator named, or a subdomain of one."""

    @abstractmethod
    def uses(self, pauses: Pauses) -> dict[str, Use]:
        """Return the state of the shared clocks that are in use, or were lately, as far as they are stored."""

    def hosts(self) -> Iterator[Sequence[HostSummary]]:
        """See ``Inspection``, as for all that has the same name there."""
        return self._inspection.hosts()

    def queue(self, key: str, most: int) -> list[UrlEntry]:
        return self._inspection.queue(key, most)

    def url_states(self) -> AbstractContextManager[UrlStateReader]:
        return self._inspection.url_states()

    def impact(self, selection: UrlSelection) -> ExclusionImpact:
        return self._inspection.impact(selection)

    def check(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        return self._inspection.check(progress)

    @abstractmethod
    def learner(self) -> Learner | None:
        """Return the trained model of link scores; None if the crawl is not focused."""

    @abstractmethod
    def running_workers(self) -> list[Worker]:
        """Return the processes with recent heartbeats, with the exclusion lists that they apply."""

    @abstractmethod
    def silent_workers(self) -> list[Worker]:
        """Return the workers that were silent for their lease time, and have not left: they have lost their hosts,
        and begin nothing before they have read the commands of operators."""

    # -- stores of features ----------------------------------------------------------------------------------

    @abstractmethod
    def _open_store(
        self, store: Callable[[Tables], Store], *, changing: bool = False
    ) -> AbstractAsyncContextManager[tuple[Store, Callable[[], Awaitable[float]]]]:
        """Open what ``store`` makes of the crawl's tables, with a function that returns epoch seconds by the clock of
        the crawl."""

    @blocking
    async def read_store(
        self, store: Callable[[Tables], Store], read: Callable[[Store], Awaitable[Result]]
    ) -> Result:
        """Return what ``read`` gives for the store of a feature, which ``store`` makes of the crawl's tables."""
        async with self._open_store(store) as (opened, _):
            return await read(opened)

    @blocking
    async def change_store(
        self, store: Callable[[Tables], Store], change: Callable[[Store, float], Awaitable[Result]]
    ) -> Result:
        """Return what ``change`` gives for the store of a feature and the time by the crawl's clock (epoch seconds).
        Its processes may be running."""
        async with self._open_store(store, changing=True) as (opened, now):
            return await change(opened, await now())

    @blocking
    async def series(
        self, names: Sequence[str], from_: float | None, to: float | None, points: int
    ) -> Series:
        """Return time series of all processes together; see ``SeriesStore.read``."""
        async with self._open_store(SeriesStore) as (opened, now):
            return await opened.read(names, from_, to, points, await now())

    # -- moving ----------------------------------------------------------------------------------------------

    @abstractmethod
    def whole(self) -> AbstractContextManager[WholeCrawl]:
        """Open all that is kept of the crawl, which must not run."""

    @abstractmethod
    def named_hosts(self) -> Mapping[str, Sequence[str]]:
        """Return what the operator named by seeds, with the first addresses of each, as far as they are known."""

    @abstractmethod
    def learners(self) -> Iterator[tuple[Learner, str]]:
        """Yield the models of link scores, each with its focus. Those that were never saved are left out."""

    @abstractmethod
    def move_mark(self) -> MoveMark | None:
        """Return what says that the crawl was moved to here or from here."""

    @abstractmethod
    def set_move_mark(self, mark: MoveMark | None) -> None: ...

    # -- changing --------------------------------------------------------------------------------------------

    def repair(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        """:raises webcrawl.errors.JobdirLocked, webcrawl.errors.StartRefused: a process works on it"""
        return self._inspection.repair(progress)

    @abstractmethod
    def look(self) -> list[Worker]:
        """Make all processes with recent heartbeats read their exclusion files now; return these processes."""

    def command(
        self,
        command: Operation,
        *,
        tell: Callable[[str], None],
        arguments: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        by: str | None = None,
    ) -> bool:
        """Give a command to all processes; see ``operating.operate``. A pause lasts until a resume or a stop, also if
        a process is started again meanwhile.

        :raises webcrawl.control.operating.NotObeyed: a process does not obey, or could not carry it out
        """
        who = by or this_operator()
        return operate(self, command, who, tell, arguments=arguments, seconds=seconds, run=self._last_run())

    def _last_run(self) -> tuple[str | None, float] | None:
        """Return the version and the start of the last run, if its process is the only one."""
        return None
