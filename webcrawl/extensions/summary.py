"""At the end of a crawl: the summary on standard error and ``report.html`` in the JOBDIR."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from scrapy import signals

from webcrawl.archive.disk import ArchiveError
from webcrawl.crawl.context import get_configuration, get_context, get_fatal_error
from webcrawl.crawl.refused_start import START_REFUSED
from webcrawl.extensions.errors import Errors
from webcrawl.extensions.metrics_reader import Countable, get_folder, get_frontier
from webcrawl.politeness.groups import GroupsError
from webcrawl.reports import run_log
from webcrawl.reports.summary import FORCED, CrawlEnd, Shared, summary
from webcrawl.storage.contract import SharedBackend
from webcrawl.version import __version__

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration

RESUME_COMMAND = "RESUME_COMMAND"
"""A setting that the crawl command makes for this extension: the command that resumes the crawl."""

_SEEDS_KEPT = 20
_SEEDS_LENGTH = 2_000
"""The numbers of start URLs and of characters of the seeds that are recorded."""

logger = logging.getLogger(__name__)


class Summary:
    """Reads the figures when the spider has closed, and prints them after everything else, when the engine has
    stopped.
    """

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._directory: Path | None = None
        self._configuration = configuration
        self._frontier: Countable | None = None
        self._opened_at = 0.0
        self._ended: tuple[str, str, float] | None = None
        self._is_told = False
        self._is_recorded = False
        """True while the start of this run is in the log of runs, and its end is not."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, get_configuration(crawler))
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    async def spider_opened(self, spider: Spider) -> None:
        self._frontier = get_frontier(self._crawler)
        self._directory = get_folder(self._crawler)
        self._opened_at = time.monotonic()
        directory = self._directory
        if directory is None or self._frontier is None or not directory.is_dir():
            return
        shared = self._shared()
        run = run_log.Run(
            begun_at=round(time.time(), 3),
            spider=spider.name,
            worker=self._configuration.worker_name,
            seeds=_seeds(spider),
            user_agent=self._configuration.user_agent,
            version=__version__,
            crawl=None if shared is None else f"{spider.name} on {shared.place}",
        )
        # A disk that hangs must not block the event loop, and a full one is no reason not to crawl.
        with suppress(OSError):
            await asyncio.to_thread(run_log.begin, directory, run)
            self._is_recorded = True

    def spider_closed(self, spider: Spider, reason: str) -> None:
        self._ended = (spider.name, reason, time.monotonic() - self._opened_at)

    async def engine_stopped(self) -> None:
        if self._ended is None or self._ended[1] == START_REFUSED:
            return
        with suppress(OSError):
            await asyncio.to_thread(self._record_end, self._ended[1])
        context = get_context(self._crawler)
        context.doing = "report.html, which is written"
        report = await self._report(self._ended[0]) if self._directory is not None else None
        context.doing = None
        self._tell(*self._ended, report)

    def forced(self) -> None:
        """Print the known figures: the process ends without a close of the crawl, or before the summary was
        printed.
        """
        refused = self._ended is not None and self._ended[1] == START_REFUSED
        if self._is_told or refused or self._crawler.spider is None:
            return
        elapsed = time.monotonic() - self._opened_at
        ended = self._ended or (self._crawler.spider.name, FORCED, elapsed)
        with suppress(OSError):
            self._record_end(ended[1])
        self._tell(*ended, None)

    def _tell(self, spider: str, reason: str, elapsed: float, report: Path | None) -> None:
        if self._frontier is None:
            return
        self._is_told = True
        if not self._crawler.settings.getbool("LOG_ENABLED"):
            # As --nolog promises in Scrapy, nothing is said.
            return
        errors, trouble = self._crawler.get_extension(Errors), get_fatal_error(self._crawler)
        count = self._crawler.stats.get_value
        makes_items = getattr(self._crawler.spider, "makes_requests", True)
        ending = CrawlEnd(
            spider=spider,
            reason=reason,
            elapsed_seconds=elapsed,
            tally=self._frontier.tally,
            frontier=self._frontier.snapshot(),
            directory=self._directory,
            report=report,
            resume=self._resume(),
            shared=self._shared(),
            unanticipated=0 if errors is None else errors.count,
            items=count("item_scraped_count", 0) if makes_items else None,
            dropped_items=count("item_dropped_count", 0),
            trouble=None if trouble is None else " ".join(str(trouble).split()),
        )
        sys.stderr.write("\n" + summary(ending))
        sys.stderr.flush()

    def _record_end(self, reason: str) -> None:
        """Record the end of this run, once. :raises OSError: it cannot be written"""
        if self._is_recorded and self._directory is not None:
            self._is_recorded = False
            run_log.end(self._directory, round(time.time(), 3), reason)

    def _resume(self) -> str | None:
        if not self._configuration.storage.is_lasting:
            return None
        command: str | None = self._crawler.settings.get(RESUME_COMMAND)
        return command

    def _shared(self) -> Shared | None:
        backend = get_context(self._crawler).backend
        if not isinstance(backend, SharedBackend):
            return None
        return Shared(self._configuration.worker_name, backend.place)

    async def _report(self, spider: str) -> Path | None:
        """Write the page on a thread that does not delay a second signal; return None if it cannot be written."""
        directory = self._directory
        if directory is None or not directory.is_dir():
            return None
        # Nothing else in a crawl needs these modules.
        from webcrawl.crawl.report_facts import report_facts
        from webcrawl.reports import page

        loop = asyncio.get_running_loop()
        written: asyncio.Future[Path] = loop.create_future()

        def write() -> None:
            try:
                about = report_facts([directory], self._configuration)
                path = page.write(directory, *self._headings(spider, directory), about)
            except Exception as error:
                loop.call_soon_threadsafe(written.set_exception, error)
            else:
                loop.call_soon_threadsafe(written.set_result, path)

        threading.Thread(target=write, name="report", daemon=True).start()
        try:
            return await written
        except (OSError, ArchiveError, GroupsError) as error:
            logger.warning("No %s: %s", page.NAME, error)
            return None

    def _headings(self, spider: str, directory: Path) -> tuple[str, str]:
        """Return the title of the report, and the remarks for its readers."""
        if (shared := self._shared()) is None:
            return directory.resolve().name, ""
        return f"{spider}: worker {shared.worker}", (
            f"One worker of the crawl on {shared.place}. This report covers the requests of this worker alone; "
            "scrapy report with the folders of all workers covers the whole crawl."
        )


def _seeds(spider: Spider) -> str:
    """Return the seeds of a spider as they were given."""
    seeds = getattr(spider, "seeds", None)
    if seeds is None:
        urls = getattr(spider, "start_urls", None) or []
        seeds = ", ".join(map(str, islice(urls, _SEEDS_KEPT))) if isinstance(urls, Iterable) else ""
    return "standard input" if seeds == "-" else ", ".join(str(seeds).split(","))[:_SEEDS_LENGTH]
