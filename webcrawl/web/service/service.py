"""The service behind its API: one supervisor, its clock, and what operators ask of it.

What blocks runs on one thread, one call after the other, so that no two commands cross each other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict, TypeVar

from webcrawl.control.selection import apply_spider_settings, select_crawl_in
from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import CrawlError, Problem
from webcrawl.features.notifications.delivery import Delivery
from webcrawl.features.steering.store import Operation, SteeringStore
from webcrawl.storage import technology_in
from webcrawl.web.answers import Figures
from webcrawl.web.dashboard.source import CrawlSource
from webcrawl.web.dashboard.state import StateReader
from webcrawl.web.service.order_form import FormAnswer, build_form
from webcrawl.web.service.orders import order_problems
from webcrawl.web.service.processes import Crawls, tail
from webcrawl.web.service.records import LIVE, CrawlOrder, CrawlRecord, OrderState, name_problem
from webcrawl.web.service.schedule_rows import ScheduleRow, schedule_row
from webcrawl.web.service.schedules import Schedule, schedule_problems
from webcrawl.web.service.supervisor import ServiceError, Supervisor
from webcrawl.web.service.timetable import Timetable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from scrapy.settings import Settings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.notifications.receivers import Receiver
    from webcrawl.web.service.folder import ServiceFolder
    from webcrawl.web.service.notices import CrashNotices

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

TICK_SECONDS = 1.0
"""Interval at which the processes are looked at."""
ORDER_POLL_SECONDS = 0.2
"""Interval at which the order of a crawl is read while somebody waits for its end."""
FIGURES_SECONDS = 2.0
"""The figures of a crawl that runs are read at most this often."""
FIGURES_WAIT_SECONDS = 3.0
"""An answer waits so long for the figures of all crawls."""
END_SECONDS = 5.0
"""The longest time that the end of the service waits for its last messages."""
OBEY_SECONDS = 4.0
"""Seconds that an answer waits for the result of a command."""
REPORT = "report.html"


class OrderRefused(CrawlError):  # noqa: N818 - states what happened
    """An order is wrong. ``problems`` has all reasons."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = list(problems)


class ServiceRow(TypedDict):
    """A crawl of the service."""

    name: str
    spider: str
    state: OrderState
    is_paused: Annotated[bool, "It runs, and an operator has paused it."]
    since: Annotated[float, "The time of this state."]
    reason: Annotated[str, "Why it is in this state; empty if that is plain."]
    position: Annotated[int | None, "Its place among the crawls that wait."]
    pid: int | None
    crashes: Annotated[int, "Crashes in a row."]
    next_start_at: float | None
    started_at: float | None
    has_begun: bool
    ordered_by: str
    ordered_at: float
    schedule: Annotated[str, "The schedule that has ordered it; empty: an operator."]
    jobdir: str
    figures: Annotated[
        Figures,
        "Of all runs: queued, done, failed, hosts, pages, bytes. Of the present run: pages_per_second.",
    ]
    arguments: NotRequired[dict[str, str]]
    settings: NotRequired[dict[str, str]]


@dataclass(slots=True)
class _Figures:
    """Figures of a crawl, and when they were read."""

    at: float
    state: OrderState
    values: dict[str, float | None] = field(default_factory=dict)
    is_paused: bool = False


class Service:
    """Crawls by their names. ``begin`` starts it, ``end`` stops all crawls."""

    def __init__(
        self,
        crawls: Crawls,
        folder: ServiceFolder,
        supervisor: Supervisor,
        settings: Settings,
        *,
        order_settings: Collection[str],
        notices: CrashNotices | None = None,
        receivers: Sequence[Receiver] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``settings``: those of all crawls. ``order_settings``: names of those that an order may have. ``notices``:
        what ``receivers`` are told; None for nothing. ``clock``: returns the time of schedules in epoch seconds."""
        self._notices = notices
        self._delivery = Delivery(receivers)
        self.crawls = crawls
        self.settings = settings
        self._folder = folder
        self._supervisor = supervisor
        self._order_settings = order_settings
        self._clock = clock
        self._timetable = Timetable(folder, _OrderedCrawls(self, supervisor))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="supervisor")
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="figures")
        self._files = ThreadPoolExecutor(2, thread_name_prefix="files")
        self._commands = ThreadPoolExecutor(4, thread_name_prefix="commands")
        """Threads that wait until a crawl has carried out a command."""
        self._figures: dict[str, _Figures] = {}
        self._states: dict[str, tuple[CrawlOrder, StateReader]] = {}
        self._reading: set[str] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._soon = asyncio.Event()
        self.over = asyncio.Event()
        """Set when the service ends and no crawl runs any more."""

    # -- life ----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Take the records of an earlier service, and start what may start."""
        await self._run(self._load)
        if self._notices is not None:
            self._notices.begin(await self._run(self._supervisor.records))
        self._ticking = asyncio.create_task(self._tick())

    def _load(self) -> None:
        self._supervisor.load(self._folder.records(), time.time())
        self._timetable.load(self._folder.schedules())

    async def end(self) -> None:
        """Stop all crawls; a second call forces them. ``over`` is set when they have ended."""
        await self._run(lambda: self._supervisor.end(time.time()))
        self._soon.set()

    async def close(self) -> None:
        """Wait a little for the last messages, and release threads and lock."""
        await self._delivery.finish(END_SECONDS)
        if self._ticking is not None:
            self._ticking.cancel()
        # The lock is released when nothing is written any more.
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._files.shutdown(wait=False, cancel_futures=True)
        self._commands.shutdown(wait=False, cancel_futures=True)
        self._folder.leave()

    async def _tick(self) -> None:
        while not self.over.is_set():
            try:
                await self._run(self._look)
                await self._tell()
            except Exception:
                # The other crawls must go on.
                logger.exception("The crawls could not be looked at")
            if await self._run(lambda: self._supervisor.is_over):
                self.over.set()
            self._soon.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._soon.wait()

    def _look(self) -> None:
        if not self._supervisor.is_ending:
            self._timetable.tick(self._clock())
        self._supervisor.tick(time.time())

    async def _tell(self) -> None:
        if self._notices is not None:
            for message in self._notices.look(await self._run(self._supervisor.records), time.time()):
                self._delivery.post(message)

    async def _run(self, function: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    # -- looking -------------------------------------------------------------------------------------------

    async def rows(self) -> list[ServiceRow]:
        """Return all crawls with their figures."""
        records, queue = await self._run(lambda: (self._supervisor.records(), self._supervisor.queue()))
        await self._read_all(records)
        return [self._row(record, queue) for record in records]

    async def live(self) -> list[str]:
        """Return the names of the crawls that have a process."""
        return await self._run(self._supervisor.live)

    async def form(self) -> FormAnswer:
        """Return what an order may have."""
        return await self._run(lambda: build_form(self.settings, self._order_settings))

    async def row(self, name: str) -> ServiceRow:
        """Return one crawl. :raises ServiceError: there is none"""
        record, queue = await self._run(lambda: (self._supervisor.record(name), self._supervisor.queue()))
        await self._read_all([record])
        order = record.order
        return {
            **self._row(record, queue),
            "arguments": dict(order.arguments),
            "settings": dict(order.settings),
        }

    async def record(self, name: str) -> CrawlRecord:
        """Return a record. :raises ServiceError: there is none"""
        return await self._run(lambda: self._supervisor.record(name))

    def _row(self, record: CrawlRecord, queue: list[str]) -> ServiceRow:
        order = record.order
        figures = self._figures.get(order.name)
        return {
            "name": order.name,
            "spider": order.spider,
            "state": record.state,
            "is_paused": figures is not None and figures.state is record.state and figures.is_paused,
            "since": record.since,
            "reason": record.reason,
            "position": queue.index(order.name) + 1 if order.name in queue else None,
            "pid": self._supervisor.pid(order.name),
            "crashes": record.crashes,
            "next_start_at": record.due_at if record.state is OrderState.RESTARTING else None,
            "started_at": record.started_at,
            "has_begun": record.has_begun,
            "ordered_by": order.by,
            "ordered_at": order.at,
            "schedule": order.schedule,
            "jobdir": str(self.crawls.folder(order.name)),
            "figures": {} if figures is None else figures.values,
        }

    async def _read_all(self, records: Iterable[CrawlRecord]) -> None:
        """Read figures that are not fresh. A crawl whose storage does not answer keeps those that it had."""
        tasks = [
            asyncio.create_task(self._read_figures(record)) for record in records if self._is_due(record)
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=FIGURES_WAIT_SECONDS)

    def _is_due(self, record: CrawlRecord) -> bool:
        known = self._figures.get(record.order.name)
        if not record.has_begun or record.order.name in self._reading:
            return False
        if known is None or known.state is not record.state:
            return True
        return record.state in LIVE and time.time() - known.at >= FIGURES_SECONDS

    async def _read_figures(self, record: CrawlRecord) -> None:
        name = record.order.name
        self._reading.add(name)
        try:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._readers, self._figures_now, record)
        except RuntimeError:
            return  # the service ends
        finally:
            self._reading.discard(name)
        self._figures[name] = found

    def _figures_now(self, record: CrawlRecord) -> _Figures:
        order = record.order
        found = _Figures(time.time(), record.state)
        known = self._states.get(order.name)
        try:
            if known is None or known[0] != order:
                known = self._states[order.name] = order, StateReader(self.source(order))
            state = known[1].read(public=False)
        except (OSError, CrawlError):
            # It has not opened its frontier yet, or its folder is gone.
            return found
        totals, rates, counts = state["totals"], state["rates"], state["counts"]
        found.is_paused = record.state is OrderState.RUNNING and state["state"] == "paused"
        found.values = {
            "pages": totals["pages"],
            "bytes": totals["bytes"],
            "pages_per_second": rates["pages"] if record.state in LIVE else None,
            **{name: counts[name] for name in ("queued", "done", "failed", "hosts")},
        }
        return found

    def source(self, order: CrawlOrder) -> CrawlSource:
        """Return what names a crawl for its dashboard. :raises CrawlError: it cannot be read"""
        settings = self.settings.copy()
        for name, value in {**order.settings, "JOBDIR": str(self.crawls.folder(order.name))}.items():
            settings.set(name, value, priority="cmdline")
        spider = apply_spider_settings(order.spider, settings)
        return CrawlSource(settings, order.spider, order.arguments, getattr(spider, "allowed_domains", None))

    async def log(self, name: str, lines: int) -> list[str]:
        """Return the last lines of a crawl's output. :raises ServiceError:"""
        record = await self.record(name)
        folder = self.crawls.folder(record.order.name)
        return await asyncio.get_running_loop().run_in_executor(self._files, tail, folder, lines)

    async def report(self, name: str) -> bytes:
        """Return report.html of a crawl. :raises ServiceError: there is none"""
        record = await self.record(name)
        path = self.crawls.folder(record.order.name) / REPORT
        try:
            return await asyncio.get_running_loop().run_in_executor(self._files, path.read_bytes)
        except OSError:
            message = f"{name} has no {REPORT} yet: it is written when a crawl ends"
            raise ServiceError(message, is_missing=True) from None

    # -- commands ------------------------------------------------------------------------------------------

    async def create(self, order: CrawlOrder, seeds: Sequence[str], *, start: bool) -> ServiceRow:
        """Add a crawl. :raises OrderRefused: :raises ServiceError: :raises OSError: it cannot be stored"""
        await self._run(lambda: self._create(order, seeds, start=start))
        self._soon.set()
        return await self.row(order.name)

    def _create(self, order: CrawlOrder, seeds: Sequence[str], *, start: bool) -> None:
        if problem := name_problem(order.name):
            raise OrderRefused([problem])
        if self._supervisor.find(order.name) is not None:
            raise ServiceError(f"there is a crawl {order.name} already")
        if not order.schedule and self._timetable.resumes(order.name):
            raise ServiceError(f"the schedule {order.name} orders a crawl of this name")
        path = self._folder.seeds_path(order.name)
        path.unlink(missing_ok=True)
        try:
            self._supervisor.create(self._checked(order, seeds, order.name), time.time(), start=start)
        except BaseException:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise

    def _checked(self, order: CrawlOrder, seeds: Sequence[str], name: str) -> CrawlOrder:
        """Return an order with the file of its seeds, which is written. ``name``: of that file.

        :raises OrderRefused: :raises OSError: it cannot be written
        """
        if seeds and order.spider != BROAD:
            raise OrderRefused(
                [Problem("seeds", f"are those of the spider {BROAD}; {order.spider} has its own")]
            )
        if "seeds" in order.arguments:
            raise OrderRefused(
                [Problem("-a seeds", "cannot name a file; give the seeds themselves, in seeds")]
            )
        if seeds:
            self._folder.add_seeds(name, seeds)
            path = str(self._folder.seeds_path(name))
            order = replace(order, arguments={"seeds": path, **order.arguments})
        settings = self.settings.copy()
        settings.set("JOBDIR", str(self.crawls.folder(order.name)), priority="cmdline")
        if problems := order_problems(
            settings, order.spider, order.arguments, order.settings, self._order_settings
        ):
            raise OrderRefused(problems)
        return order

    async def add_seeds(self, name: str, urls: Sequence[str], by: str) -> str:
        """Give more seeds to a crawl of the spider broad; return where they are. A crawl that has begun queues them
        by its own rules, in this run or the next.

        :raises ServiceError: :raises CrawlError: they cannot be given :raises OSError: they cannot be stored
        """
        return await self._run(lambda: self._add_seeds(name, urls, by))

    def _add_seeds(self, name: str, urls: Sequence[str], by: str) -> str:
        record = self._supervisor.record(name)
        order = record.order
        if order.spider != BROAD:
            raise ServiceError(f"{name} has the spider {order.spider}, and seeds are those of {BROAD}")
        if record.has_begun:
            self._stored(name).change_store(SteeringStore, lambda store, now: store.inject(urls, by, now))
            return "handed to the crawl, which queues them by its rules"
        if "seeds" not in order.arguments:
            raise ServiceError(f"{name} was ordered without seeds; give it more when it has begun")
        self._folder.add_seeds(name, urls)
        return "added to the seeds with which it begins"

    async def command(self, name: str, command: Operation, by: str) -> str:
        """Pass a command on to a crawl, and return its result as a sentence, if that takes no longer than some
        seconds.

        :raises CrawlError: it does not run, cannot be told, or could not carry it out
        """
        record = await self.record(name)
        loop = asyncio.get_running_loop()
        sentence = await loop.run_in_executor(self._commands, self._command, record, command, by)
        self._figures.pop(name, None)
        return sentence

    def _command(self, record: CrawlRecord, command: Operation, by: str) -> str:
        name = record.order.name
        if record.state is not OrderState.RUNNING:
            raise ServiceError(f"{name} does not run: it is {record.state}")
        messages: list[str] = []
        self._stored(name).command(command, seconds=OBEY_SECONDS, tell=messages.append, by=by)
        return " ".join(messages)

    def _stored(self, name: str) -> StoredCrawl:
        """Return a crawl as its storage has it. :raises ServiceError: it has not opened its frontier yet"""
        folder = self.crawls.folder(name)
        technology = technology_in(folder)
        crawl = None if technology is None else select_crawl_in(folder, technology, starts=False)
        if crawl is None:
            raise ServiceError(f"{name} has not opened its frontier yet; try again in a moment")
        return crawl

    async def start(self, name: str) -> ServiceRow:
        """:raises ServiceError: :raises OSError:"""
        await self._run(lambda: self._supervisor.start(name, time.time()))
        self._soon.set()
        return await self.row(name)

    async def stop(self, name: str) -> ServiceRow:
        """:raises ServiceError: :raises OSError:"""
        await self._run(lambda: self._supervisor.stop(name, time.time()))
        # The answer says what came of it, unless open requests take longer.
        with suppress(TimeoutError):
            async with asyncio.timeout(OBEY_SECONDS):
                while (await self.record(name)).state is OrderState.STOPPING:
                    self._soon.set()
                    await asyncio.sleep(ORDER_POLL_SECONDS)
        return await self.row(name)

    async def remove(self, name: str) -> None:
        """:raises CrawlError: :raises OSError:"""
        await self._run(lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        self._supervisor.remove(name)
        self._figures.pop(name, None)
        self._states.pop(name, None)

    # -- schedules -----------------------------------------------------------------------------------------

    async def schedule_rows(self) -> list[ScheduleRow]:
        """Return all schedules with their last runs."""
        return await self._run(
            lambda: [self._schedule_row(schedule) for schedule in self._timetable.schedules()]
        )

    async def schedule_row(self, name: str) -> ScheduleRow:
        """Return one schedule, with its order and all runs that it remembers. :raises ServiceError: there is none"""
        return await self._run(lambda: self._schedule_row(self._timetable.schedule(name), whole=True))

    def _schedule_row(self, schedule: Schedule, *, whole: bool = False) -> ScheduleRow:
        going = self._timetable.going(schedule)
        return schedule_row(schedule, going, self._supervisor.find, self._clock(), whole=whole)

    async def create_schedule(self, schedule: Schedule) -> ScheduleRow:
        """Add a schedule. :raises OrderRefused: :raises ServiceError: :raises OSError: it cannot be stored"""

        def create() -> None:
            self._check_schedule(schedule)
            self._timetable.create(schedule, self._clock())

        await self._run(create)
        return await self.schedule_row(schedule.name)

    async def change_schedule(self, name: str, change: Callable[[Schedule], Schedule]) -> ScheduleRow:
        """Change a schedule. :raises OrderRefused: :raises ServiceError: :raises OSError: it cannot be stored"""

        def put() -> None:
            schedule = change(self._timetable.schedule(name))
            self._check_schedule(schedule)
            self._timetable.change(schedule, self._clock())

        await self._run(put)
        return await self.schedule_row(name)

    async def remove_schedule(self, name: str) -> None:
        """Forget a schedule; its crawls stay. :raises ServiceError: :raises OSError:"""
        await self._run(lambda: self._timetable.remove(name))

    async def run_schedule(self, name: str, by: str) -> ScheduleRow:
        """Start the order of a schedule now. :raises ServiceError: :raises OSError:"""
        await self._run(lambda: self._timetable.run_now(name, by, self._clock()))
        self._soon.set()
        return await self.schedule_row(name)

    def _check_schedule(self, schedule: Schedule) -> None:
        """:raises OrderRefused: its name, its times or its order are wrong :raises OSError:"""
        if problems := schedule_problems(schedule):
            raise OrderRefused(problems)
        order = CrawlOrder(
            schedule.crawl_name(schedule.changed_at),
            schedule.order.spider,
            schedule.order.arguments,
            schedule.order.settings,
        )
        # No crawl has a name that begins with a dot.
        name = f".{schedule.name}"
        self._folder.seeds_path(name).unlink(missing_ok=True)
        try:
            self._checked(order, schedule.order.seeds, name)
        finally:
            self._folder.seeds_path(name).unlink(missing_ok=True)


class _OrderedCrawls:
    """The crawls of a service, as its schedules order them."""

    def __init__(self, service: Service, supervisor: Supervisor) -> None:
        self._service = service
        self.records = supervisor.records
        self.find = supervisor.find
        self.start = supervisor.start

    def order(self, order: CrawlOrder, seeds: Sequence[str]) -> None:
        self._service._create(order, seeds, start=True)

    def remove(self, name: str) -> None:
        self._service._remove(name)
