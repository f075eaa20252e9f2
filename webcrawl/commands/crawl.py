"""``scrapy crawl``: Scrapy's command, which here looks before it leaps and tells by its exit status how it
went.

0: the crawl ended as asked, by running dry, by a limit or by a signal. 1: it ended through errors. 2: it
did not start, because an argument, a setting, a file or the JOBDIR is wrong; each of them has its line on
standard error.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.commands import BaseRunSpiderCommand
from scrapy.utils.ossignal import install_shutdown_handlers
from scrapy.utils.reactor import is_reactor_installed

from webcrawl.commands import preparation
from webcrawl.commands.starting import RefusableCrawler
from webcrawl.errors import Problem
from webcrawl.extensions.errors import REASON as UNANTICIPATED
from webcrawl.extensions.summary import Summary
from webcrawl.logs import hush_inventory, log_level
from webcrawl.machine import trouble_of
from webcrawl.wiring.page_processing import BROKEN
from webcrawl.wiring.refused_start import REFUSALS, reasons, refusal_of

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider

WRONG = frozenset({UNANTICIPATED, BROKEN, "storage_lost", "start_error", "memusage_exceeded"})
"""Close reasons of crawls that ended through errors."""

logger = logging.getLogger(__name__)


class Command(BaseRunSpiderCommand):
    requires_project = True

    def __init__(self) -> None:
        super().__init__()
        self._spider: type[Spider] | None = None
        self._is_open = False
        self._reason: str | None = None
        self._error: BaseException | None = None

    def syntax(self) -> str:
        return "[options] <spider>"

    def short_desc(self) -> str:
        return "Run a spider, polite and resumable: -s JOBDIR=DIR is the crawl"

    def long_desc(self) -> str:
        return (
            "Run a spider of the project by name. The broad spider takes -a seeds=FILE|URL,...|- and, if "
            "you want, -a allow=REGEX, -a domains=FILE|NAME[,NAME...] and -a mode=continuous. The folder of -s "
            "JOBDIR=DIR is the crawl: the same command again goes on with it. Exit status: 0 ended as asked, "
            "1 ended through errors, 2 something about the command is wrong."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check everything; nothing has been started or written when something is wrong."""
        assert self.settings is not None
        known = frozenset(self.settings)
        pid_file, opts.pidfile = opts.pidfile, None
        problems = preparation.unreadable_settings(opts)
        super().process_options(args, opts)
        found = preparation.spider_named(args, self.settings)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            self._spider = found
            problems += preparation.problems(self.settings, found, opts, known)
        if problems or self._spider is None:
            sys.stderr.write("".join(f"scrapy crawl: {problem}\n" for problem in problems))
            sys.exit(2)
        preparation.complete(self.settings, self._spider)
        hush_inventory(log_level(self.settings))
        if pid_file:
            Path(pid_file).write_text(f"{os.getpid()}\n", encoding="utf-8")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        assert self._spider is not None
        assert self.settings is not None
        crawler = RefusableCrawler(self._spider, self.settings, init_reactor=not is_reactor_installed())
        crawler.signals.connect(self._warn_if_feeds_unused, signal=signals.engine_started)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)
        started: Any = self.crawler_process.crawl(crawler, **opts.spargs)
        if isinstance(started, asyncio.Task):
            started.add_done_callback(self._ended)
        else:
            started.addErrback(self._failed)
        self.crawler_process.start()
        # The crawl is over, and a further signal changes nothing of how.
        install_shutdown_handlers(signal.SIG_IGN)
        if self._is_open and (summary := crawler.get_extension(Summary)) is not None:
            summary.forced()
        self.exitcode = self._status(crawler)

    def _opened(self) -> None:
        self._is_open = True

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._error = task.exception()

    def _failed(self, failure: Any) -> None:
        self._error = failure.value

    def _status(self, crawler: RefusableCrawler) -> int:
        """The exit status; says on standard error why when it is not 0."""
        refusal = refusal_of(crawler) or self._error
        if isinstance(refusal, REFUSALS):
            sys.stderr.write("".join(f"scrapy crawl: {line}\n" for line in reasons(refusal)))
            return 2
        if self._error is not None:
            logger.critical("The crawl could not start", exc_info=self._error)
            return 1
        if not self._is_open:
            # As while a Redis is waited for that still reads its data.
            sys.stderr.write("scrapy crawl: stopped before it began\n")
            return 0
        if self._reason is None:
            sys.stderr.write("scrapy crawl: stopped by force; what was in flight will be fetched again\n")
            return 1
        return 1 if self._reason in WRONG or trouble_of(crawler) is not None else 0
