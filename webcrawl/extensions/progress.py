"""The live display: the current figures at the bottom of the terminal, with log lines scrolling above them."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, TextIO

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.log import get_scrapy_root_handler

from webcrawl import fetch_errors
from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import MetricsReader, get_folder, get_frontier
from webcrawl.reports import live
from webcrawl.reports.live import RecentError, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from webcrawl.config import Configuration
    from webcrawl.reports.pace import Reading

REFRESH_SECONDS = 0.5
"""Seconds between two drawings. One costs about a millisecond: a quarter of a per cent of a core."""


LAST_ERRORS = 3
"""The number of errors that are shown with their URLs."""


class LastErrors(logging.Handler):
    """Remembers the last errors of single URLs."""

    def __init__(self) -> None:
        super().__init__()
        self.last: deque[RecentError] = deque(maxlen=LAST_ERRORS)

    def emit(self, record: logging.LogRecord) -> None:
        word, url = fetch_errors.named_in(record)
        self.last.append(RecentError(time.monotonic(), word, url))


class Progress:
    """Draws readings while the spider is open, and redirects the log handler's stream meanwhile.

    It runs on the event loop, without a thread of its own: log lines never tear the display.
    """

    def __init__(self, crawler: Crawler, configuration: Configuration, console: Console) -> None:
        self._crawler = crawler
        self._configuration = configuration
        self._console = console
        self._live: Live | None = None
        self._call: AsyncioLoopingCall | LoopingCall | None = None
        self._gauge: MetricsReader | None = None
        self._title = ""
        self._log_stream: TextIO | None = None
        self._failures = LastErrors()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = get_configuration(crawler)
        if not shows_display(configuration.progress_display, sys.stderr):
            raise NotConfigured  # without a message: there is nothing to warn about
        from rich.console import Console  # a crawl without a display does not need rich

        console = Console(
            stderr=True, force_terminal=True if configuration.progress_display == "on" else None
        )
        extension = cls(crawler, configuration, console)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    @property
    def holds_the_log(self) -> bool:
        """True if log lines and the display are on the same terminal now."""
        return self._log_stream is not None

    def spider_opened(self) -> None:
        frontier = get_frontier(self._crawler)
        if frontier is None:
            return
        from rich.live import Live

        spider = self._crawler.spider.name if self._crawler.spider else ""
        shared = self._configuration.storage.is_shared
        worker = f"worker {self._configuration.worker_name}  " if shared else ""
        self._title = f"{spider}  {worker}{get_folder(self._crawler) or ''}".rstrip()
        self._gauge = MetricsReader(frontier, self._configuration, self._crawler)
        fetch_errors.LOGGER.addHandler(self._failures)
        # Items may be written to standard output: do not capture it unless it is this terminal.
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._live.start()
        atexit.register(self.spider_closed)  # for a crawl that is killed
        self._console.show_cursor(True)  # a killed crawl must not leave a terminal without a cursor
        self._hold_log()
        self._call = create_looping_call(self.draw)
        self._call.start(REFRESH_SECONDS)

    def spider_closed(self) -> None:
        atexit.unregister(self.spider_closed)
        if self._call is not None and self._call.running:
            self._call.stop()
        self._release_log()
        fetch_errors.LOGGER.removeHandler(self._failures)
        if self._live is not None:
            self._live.stop()

    def draw(self) -> None:
        """Draw the current figures."""
        if self._live is not None and self._gauge is not None:
            width, height = self._console.size
            shown = table(
                self._title,
                self._gauge.read(),
                list(self._failures.last),
                time.monotonic(),
                width=width,
                height=height,
            )
            self._live.update(shown, refresh=True)

    def _hold_log(self) -> None:
        """Pass log lines through rich, which prints them above the display."""
        handler = get_scrapy_root_handler()
        if type(handler) is logging.StreamHandler and handler.stream in (sys.__stderr__, self._console.file):
            self._log_stream = handler.setStream(sys.stderr)

    def _release_log(self) -> None:
        handler = get_scrapy_root_handler()
        if self._log_stream is not None and isinstance(handler, logging.StreamHandler):
            handler.setStream(self._log_stream)
        self._log_stream = None


_STYLES = {
    Tone.WARNING: "yellow",
    Tone.ERROR: "red",
    Tone.ALARM: "bold red",
    Tone.FILLED: "green",
}
"""The console leaves colours out if NO_COLOR is set."""


def table(
    title: str,
    reading: Reading,
    failures: Sequence[RecentError] = (),
    now: float = 0.0,
    *,
    width: int = 100,
    height: int = 50,
) -> Table:
    """Return the display: a line per subject, names on the left. It takes at most two thirds of ``height`` lines, so
    that log lines stay visible above it.
    """
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid()
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row(Text(title, style="bold", no_wrap=True, overflow="ellipsis"))
    rows = live.rows(reading, failures, now, width)
    for name, parts in live.fitted(rows, width, 2 * height // 3 - 1):
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{name:<{live.LABEL}}  ", style="dim")
        for part in parts:
            line.append(part.text, style=_STYLES.get(part.tone, ""))
        grid.add_row(line)
    return grid


def shows_display(choice: str, stream: TextIO) -> bool:
    """Return True if a display is wanted on ``stream``; ``auto`` means: on an interactive terminal."""
    if choice == "auto":
        return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return choice == "on"
