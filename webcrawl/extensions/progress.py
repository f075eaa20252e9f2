"""The live display: the current figures at the bottom of the terminal, with log lines scrolling above them."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.log import get_scrapy_root_handler

from webcrawl.config import Configuration
from webcrawl.extensions.metrics_reader import MetricsReader, directory_of, frontier_of
from webcrawl.reports import text

if TYPE_CHECKING:
    from typing import Self

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from webcrawl.reports.pace import Reading

REFRESH_SECONDS = 0.5
"""Seconds between two drawings. One costs about a millisecond: a quarter of a per cent of a core."""


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

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = Configuration.from_settings(crawler.settings)
        if not _wanted(configuration.progress_display, sys.stderr):
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
        frontier = frontier_of(self._crawler)
        if frontier is None:
            return
        from rich.live import Live

        spider = self._crawler.spider.name if self._crawler.spider else ""
        shared = self._configuration.storage.is_shared
        worker = f"worker {self._configuration.worker_name}  " if shared else ""
        self._title = f"{spider}  {worker}{directory_of(self._crawler) or ''}".rstrip()
        self._gauge = MetricsReader(frontier, self._configuration)
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
        if self._live is not None:
            self._live.stop()

    def draw(self) -> None:
        """Draw the current figures."""
        if self._live is not None and self._gauge is not None:
            self._live.update(table(self._title, self._gauge.read()), refresh=True)

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


def table(title: str, reading: Reading) -> Table:
    """Return the display: a line per subject, names on the left."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for name, value in rows(reading):
        style = "bold red" if name in ("stalled", "backlog full") else ""
        grid.add_row(name, Text(value, style=style))
    frame = Table.grid()
    frame.add_row(Text(title, style="bold", no_wrap=True, overflow="ellipsis"))
    frame.add_row(grid)
    return frame


def rows(reading: Reading) -> list[tuple[str, str]]:
    """Return the lines of the display as name and value; on a shared crawl one line is about the whole crawl."""
    f = reading.frontier
    given_up = f", {text.count(f.given_up_hosts)} given up" if f.given_up_hosts else ""
    known, parked = f"{text.count(f.known_hosts)} known", f"{text.count(f.parked_hosts)} parked{given_up}"
    active = f"{text.count(f.active_hosts)} active   {text.count(f.ready_hosts)} ready"
    queued, in_flight = text.things(f.queued, "URL"), f"{text.count(f.in_flight)} in flight"
    found = [
        (
            "pages",
            f"{text.count(reading.pages)}   {text.rate(reading.pages_rate)} now   "
            f"{text.rate(reading.pages_rate_mean)} mean   {text.size(reading.bytes_rate)}/s",
        ),
        *(
            [("queued", f"{queued}   {in_flight}"), ("hosts", f"{known}   {active}   {parked}")]
            if f.workers is None
            else [("hosts", f"{active}   {in_flight}")]
        ),
        *([("found", reading.found)] if reading.found else []),
        *([("again", reading.again)] if reading.again else []),
        ("errors", text.count(reading.errors)),
        ("elapsed", text.duration(reading.elapsed_seconds)),
    ]
    if reading.next_seconds is not None:
        found.append(("waiting", f"next host in {text.duration(reading.next_seconds)}"))
    if reading.left_seconds is not None:
        found.append(("left", text.duration(reading.left_seconds)))
    if f.workers is not None:
        found.append(
            (
                "whole crawl",
                f"{text.things(f.workers, 'worker')}   {queued} queued   hosts: {known}   {parked}",
            )
        )
    if f.crowded:
        found.append(("backlog full", f.crowded))
    if f.stalled:
        found.append(("stalled", f.stalled))
    return found


def _wanted(choice: str, stream: TextIO) -> bool:
    """Return True if a display is wanted on ``stream``; ``auto`` means: on an interactive terminal."""
    if choice == "auto":
        return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return choice == "on"
