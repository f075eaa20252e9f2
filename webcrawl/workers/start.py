"""The start and the end of a crawl of several workers by ``scrapy crawl``."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.log import configure_logging, get_scrapy_root_handler

from webcrawl import storage
from webcrawl.archive.disk import ArchiveError
from webcrawl.atomic_file import replace
from webcrawl.config import Configuration, check
from webcrawl.crawl.arguments import STANDARD_INPUT
from webcrawl.crawl.jobdir import OWNERS, Jobdir, worker_folder, worker_folders
from webcrawl.crawl.report_facts import report_facts
from webcrawl.errors import CrawlError, Problem
from webcrawl.feeds import overwritten_feeds, unshared_feeds
from webcrawl.logs import log_level
from webcrawl.politeness.groups import GroupsError
from webcrawl.reports import page, run_log
from webcrawl.reports.summary import FORCED, CrawlEnd, summary
from webcrawl.rotated_log import RotatedLog
from webcrawl.version import __version__
from webcrawl.workers import figures
from webcrawl.workers.cores import usable_cores
from webcrawl.workers.display import WorkersDisplay
from webcrawl.workers.names import named, worker_name
from webcrawl.workers.policy import shares
from webcrawl.workers.processes import WorkerProcess
from webcrawl.workers.supervisor import WorkerSupervisor, write_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy import Spider
    from scrapy.settings import BaseSettings, Settings

    from webcrawl.storage.technology import Technology
    from webcrawl.workers.figures import WorkerFigures
    from webcrawl.workers.supervisor import Ending

HEARTBEAT_SECONDS = 5.0
CRAWL_LOG = "crawl.log"
SEEDS = "seeds"
"""The file in the folder of workers with the seeds that came from standard input."""
_COUNTED = ("CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_ITEMCOUNT")
"""Limits of the whole crawl, which are divided among the workers."""
_OF_THE_FIRST = {"DASHBOARD_PORT": "0", "WEBSUB_CALLBACK_URL": ""}
"""What only the first worker does, and the values with which the others do not."""

logger = logging.getLogger(__name__)


def keeping_technology() -> Technology:
    """Return the storage technology that workers on one machine share."""
    return next(technology for technology in storage.technologies() if technology.keeper is not None)


def worker_count(configuration: Configuration) -> int:
    """Return the number of workers: that of the setting, or one for each core; at most one for each page of a
    limit."""
    number = configuration.workers or usable_cores()
    limit = configuration.closespider_pagecount
    return min(number, limit) if limit else number


def problems(settings: BaseSettings, spider: type[Spider], arguments: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of a crawl of several workers; ``settings`` include those of the spider and are right for a
    crawl of one process."""
    configuration, technology = Configuration.from_settings(settings), keeping_technology()
    if settings.get("FRONTIER_BACKEND") or configuration.redis_url:
        name = "REDIS_URL" if configuration.redis_url else "FRONTIER_BACKEND"
        yield Problem(
            "WORKERS",
            f"starts a {technology.name} of its own; leave {name} out, or start each worker by itself",
        )
        return
    try:
        technology.refuse_without_server()
    except CrawlError as error:
        yield Problem("WORKERS", str(error))
    shared = settings.copy()
    shared.set("FRONTIER_BACKEND", technology.name, priority="cmdline")
    yield from check(shared)
    yield from unshared_feeds(settings)
    if arguments.get("segment"):
        yield Problem("-a segment", "a segment is crawled by one process; leave WORKERS out")


@dataclass(slots=True)
class GivenCommand:
    """What the command was given, for the workers."""

    spider: str
    arguments: dict[str, str]
    settings: list[str]
    """NAME=VALUE"""
    feeds: list[str]

    @classmethod
    def of(cls, args: Sequence[str], opts: argparse.Namespace) -> GivenCommand:
        feeds = [*(opts.output or ()), *(opts.overwrite_output or ())]
        return cls(args[0], dict(opts.spargs), list(opts.set), feeds)

    def words(self, more: Mapping[str, object]) -> list[str]:
        """Return the words of a worker's command; ``more``: settings that are stronger."""
        words = [self.spider]
        words += [word for name, value in self.arguments.items() for word in ("-a", f"{name}={value}")]
        words += [word for given in self.settings for word in ("-s", given)]
        words += [word for uri in self.feeds for word in ("-o", uri)]
        return words + [word for name, value in more.items() for word in ("-s", f"{name}={value}")]


class WorkersRun:
    """One run of a crawl of several workers."""

    def __init__(self, settings: Settings, spider: type[Spider], order: GivenCommand) -> None:
        """``settings``: those of the command, with a JOBDIR; the spider's are added."""
        self._settings = settings.copy()
        spider.update_settings(self._settings)
        self._configuration = Configuration.from_settings(self._settings)
        self._order = order
        self._path = Path(self._settings["JOBDIR"])
        self._jobdir = Jobdir(self._path)
        self._touched_at = 0.0
        self._workers: list[WorkerProcess] = []
        self._supervisor: WorkerSupervisor | None = None
        self._display = WorkersDisplay.wanted(
            f"{order.spider}  {self._path}",
            self._configuration,
            self._settings.getint("CLOSESPIDER_ITEMCOUNT"),
            lambda: self._figures(self._workers),
        )
        self._begun_at = time.time()
        self._started_at = time.monotonic()

    def run(self, resume: str | None) -> int:
        """Run the crawl to its end; return the exit status. ``resume``: the command that resumes it.

        :raises CrawlError: it does not start
        """
        self._jobdir.hold()
        try:
            self._jobdir.refuse_moved()
            self._jobdir.refuse_another(self._order.spider)
            configure_logging(self._settings)
            if (handler := get_scrapy_root_handler()) is not None:
                handler.setLevel(log_level(self._settings))
            workers = self._workers = self._prepare()
            supervisor = self._supervisor = WorkerSupervisor(
                self._path,
                str(keeping_technology().keeper),
                self._jobdir.descriptors(),
                workers,
                write_line,
                self._tick,
            )
            self._jobdir.belongs_to(self._order.spider)
            self._tell_of_beginning(workers)
            self._record_begin()
            if self._display is not None:
                self._display.begin()
            ending = supervisor.run()
            if self._display is not None:
                self._display.end()
            return self._end(ending, workers, resume)
        finally:
            if self._display is not None:
                self._display.end()
            self._jobdir.leave()

    # -- the beginning ---------------------------------------------------------------------------------------

    def _prepare(self) -> list[WorkerProcess]:
        """Create the folders of the workers, and return them, not started yet. :raises OSError:"""
        count = worker_count(self._configuration)
        for path in overwritten_feeds(self._settings):
            path.unlink(missing_ok=True)
        if self._order.arguments.get("seeds", "").strip() == STANDARD_INPUT:
            self._order.arguments["seeds"] = str(self._copy_seeds())
        limits = {name: shares(total, count) for name in _COUNTED if (total := self._settings.getint(name))}
        workers = []
        for number in range(1, count + 1):
            folder = worker_folder(self._path, number)
            folder.mkdir(mode=OWNERS, parents=True, exist_ok=True)
            figures.forget(folder)
            own = {name: of_each[number - 1] for name, of_each in limits.items() if number <= len(of_each)}
            words = self._order.words({**self._settings_of(number, folder), **own})
            workers.append(WorkerProcess(worker_name(self._given_name(), number), folder, words))
        return workers

    def _given_name(self) -> str | None:
        name: str | None = self._settings.get("WORKER_NAME") or None
        return name

    def _settings_of(self, number: int, folder: Path) -> dict[str, object]:
        name = worker_name(self._given_name(), number)
        own: dict[str, object] = {
            "WORKERS": 1,
            "JOBDIR": folder,
            "WORKER_NAME": name,
            "PROGRESS_DISPLAY": "off",
            "LOG_FORMAT": named(self._settings["LOG_FORMAT"], name),
            "LOG_LEVEL": self._settings["LOG_LEVEL"],
            "LOG_ENABLED": int(self._settings.getbool("LOG_ENABLED")),
            "LOG_FILE": self._settings.get("LOG_FILE") or "",
            "LOG_FILE_APPEND": 1,
        }
        if self._display is not None:
            # It shows the same figures.
            own["STATISTICS_INTERVAL_SECONDS"] = 0
        if number > 1:
            own |= _OF_THE_FIRST
        if self._configuration.metrics_port:
            own["METRICS_PORT"] = self._configuration.metrics_port + number - 1
        return own

    def _copy_seeds(self) -> Path:
        """Copy the seeds from standard input into a file: several workers may read them, also again after a kill.
        :raises OSError:"""
        path = self._path / SEEDS
        with path.open("wb") as file:
            for part in iter(lambda: sys.stdin.buffer.read(1 << 20), b""):
                file.write(part)
        return path

    def _tell_of_beginning(self, workers: Sequence[WorkerProcess]) -> None:
        if self._configuration.crawl_log and self._settings.getbool("LOG_ENABLED"):
            log = RotatedLog(
                self._path / CRAWL_LOG,
                roll_bytes=self._configuration.crawl_log_roll_bytes,
                keep_days=self._configuration.crawl_log_keep_days,
                level=log_level(self._settings),
            )
            logging.root.addHandler(log)
        logger.info("%d workers crawl into %s", len(workers), self._path)

    def _record_begin(self) -> None:
        run = run_log.Run(
            begun_at=round(self._begun_at, 3),
            spider=self._order.spider,
            worker=f"{self._given_name() or ''}",
            seeds=self._order.arguments.get("seeds", ""),
            user_agent=self._configuration.user_agent,
            version=__version__,
        )
        with suppress(OSError):
            run_log.begin(self._path, run)

    # -- meanwhile -------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if time.monotonic() - self._touched_at >= HEARTBEAT_SECONDS:
            self._touched_at = time.monotonic()
            with suppress(OSError):
                self._jobdir.touch()
        if self._display is not None and self._supervisor is not None:
            self._display.tick(is_stopping=self._supervisor.is_stopping)

    def _figures(self, workers: Sequence[WorkerProcess]) -> WorkerFigures | None:
        """Return what all processes of this run have counted; those that run come last."""
        files = [path for worker in workers for path in worker.figure_files]
        running = {worker.figure_files[-1] for worker in workers if worker.pid is not None}
        # The last one to be written knows best what is left.
        ordered = sorted(files, key=lambda path: (path in running, _written_at(path)))
        read = [(path, found) for path in ordered if (found := figures.read(path)) is not None]
        return figures.added([found for _, found in read], sum(path in running for path, _ in read))

    # -- the end ---------------------------------------------------------------------------------------------

    def _end(self, ending: Ending, workers: Sequence[WorkerProcess], resume: str | None) -> int:
        with suppress(OSError):
            run_log.end(self._path, round(time.time(), 3), FORCED if ending.is_forced else ending.reason)
        counted = self._figures(workers)
        if counted is None:
            return ending.status
        report = None if ending.is_forced else self._report()
        if self._settings.getbool("LOG_ENABLED"):
            done = CrawlEnd(
                spider=self._order.spider,
                reason=FORCED if ending.is_forced else ending.reason,
                elapsed_seconds=time.monotonic() - self._started_at,
                tally=counted.tally,
                frontier=counted.frontier,
                directory=self._path,
                report=report,
                resume=resume,
                unanticipated=counted.unanticipated,
                items=counted.items if counted.makes_items else None,
                dropped_items=counted.dropped,
                trouble=counted.trouble,
            )
            write_line("\n" + summary(done).rstrip("\n"))
        return ending.status

    def _report(self) -> Path | None:
        folders = worker_folders(self._path)
        try:
            about = report_facts(folders, self._configuration)
            path = self._path / page.NAME
            replace(path, page.of_logs(folders, self._path.resolve().name, about=about).encode())
        except (OSError, ArchiveError, GroupsError) as error:
            logger.warning("No %s: %s", page.NAME, error)
            return None
        return path


def _written_at(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0
