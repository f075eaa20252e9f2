"""The live display of a crawl of several workers: one, of all of them together."""

from __future__ import annotations

import atexit
import logging
import sys
import time
from typing import TYPE_CHECKING, TextIO

from scrapy.utils.log import get_scrapy_root_handler

from webcrawl.extensions.progress import REFRESH_SECONDS, shows_display, table
from webcrawl.reports.live import RecentError
from webcrawl.reports.pace import CrawlLimits, PaceMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.live import Live

    from webcrawl.config import Configuration
    from webcrawl.workers.figures import WorkerFigures

ERRORS_SHOWN = 3


class WorkersDisplay:
    """Draws the sum of the workers' figures at the bottom of the terminal, with their lines scrolling above it."""

    def __init__(
        self,
        title: str,
        configuration: Configuration,
        items_max: int,
        read: Callable[[], WorkerFigures | None],
        console: Console,
    ) -> None:
        """``items_max``: CLOSESPIDER_ITEMCOUNT. ``read`` returns the figures of all processes together."""
        self._title = title
        self._read = read
        self._console = console
        limits = CrawlLimits(
            configuration.closespider_pagecount,
            configuration.closespider_timeout,
            items_max,
            configuration.page_budget,
        )
        self._pace = PaceMeter(time.monotonic(), limits, configuration.politeness_min_delay)
        self._live: Live | None = None
        self._log_stream: TextIO | None = None
        self._drawn_at = 0.0

    @classmethod
    def wanted(
        cls,
        title: str,
        configuration: Configuration,
        items_max: int,
        read: Callable[[], WorkerFigures | None],
    ) -> WorkersDisplay | None:
        """Return a display; None if PROGRESS_DISPLAY and the terminal want none."""
        if not shows_display(configuration.progress_display, sys.stderr):
            return None
        from rich.console import Console  # a crawl without a display does not need rich

        is_forced = True if configuration.progress_display == "on" else None
        return cls(title, configuration, items_max, read, Console(stderr=True, force_terminal=is_forced))

    def begin(self) -> None:
        from rich.live import Live

        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._live.start()
        atexit.register(self.end)
        self._console.show_cursor(True)  # a parent that is killed must not leave a terminal without a cursor
        handler = get_scrapy_root_handler()
        if type(handler) is logging.StreamHandler:
            # Its lines pass through rich, which prints them above the display.
            self._log_stream = handler.setStream(sys.stderr)

    def end(self) -> None:
        """Remove the display."""
        atexit.unregister(self.end)
        handler = get_scrapy_root_handler()
        if self._log_stream is not None and isinstance(handler, logging.StreamHandler):
            handler.setStream(self._log_stream)
        self._log_stream = None
        if self._live is not None:
            self._live.stop()
            self._live = None

    def tick(self, *, is_stopping: bool) -> None:
        """Draw the current figures, twice a second at most."""
        now = time.monotonic()
        if self._live is None or now - self._drawn_at < REFRESH_SECONDS or (figures := self._read()) is None:
            return
        self._drawn_at = now
        epoch = time.time()
        reading = self._pace.read(
            now, figures.tally, figures.frontier, epoch, figures.items, is_closing=is_stopping
        )
        errors = [
            RecentError(now - (epoch - at), word, url) for at, word, url in figures.errors[-ERRORS_SHOWN:]
        ]
        width, height = self._console.size
        self._live.update(table(self._title, reading, errors, now, width=width, height=height), refresh=True)
