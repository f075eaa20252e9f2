"""``scrapy report [JOBDIR...]``: write an HTML page with figures and plots of a crawl, at any time.

Exit status 0: written. 2: an argument or a setting is wrong, a log cannot be read, or the page cannot be written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.commands import output
from webcrawl.commands.fetch_logs import logs_of
from webcrawl.commands.output import complain, unusable
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator


class Command(ProjectCommand):
    expected = (ArchiveError, OSError)

    def syntax(self) -> str:
        return "[JOBDIR ...] [-o FILE] [options]"

    def short_desc(self) -> str:
        return "Write a page with figures and plots of a crawl, also while it runs"

    def long_desc(self) -> str:
        return (
            "Write one HTML page that loads nothing, from the fetch logs of all workers: pages and bits over time, "
            "outcomes, types, sizes, hosts, politeness, errors, growth of the frontier, and what the crawl costs. "
            "Without JOBDIR the setting's is taken, and its report.html is what is written unless FILE is given."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "-o",
            "--output",
            metavar="FILE",
            help="write there; - is standard output (report.html in the JOBDIR)",
        )
        add("--title", metavar="TEXT", help="what stands above it (the names of the JOBDIRs)")
        add("--price-per-core-hour", type=_price, metavar="X", help="what an hour of a core costs")
        add("--price-per-gb", type=_price, metavar="X", help="what a gigabyte received costs")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._logs, problems = logs_of(self, args)
        yield from problems
        if not problems and opts.output is None and len(self._logs.folders) > 1:
            yield Problem("-o", "where is the report of several folders to be written?")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.reports import page
        from webcrawl.reports.sections.crawl import Prices

        folders = self._logs.folders
        title = opts.title or ", ".join(folder.resolve().name for folder in folders)
        prices = Prices(opts.price_per_core_hour, opts.price_per_gb)
        target = folders[0] / page.NAME if opts.output is None else Path(opts.output)
        text = page.of_logs(folders, title, prices=prices, window_seconds=self._logs.window_seconds)
        try:
            output.write([text], None if opts.output == "-" else target)
        except OSError as error:
            message = unusable(error, target)
            return complain(self.name, [f"{message}; -o FILE writes it elsewhere, -o - to standard output"])
        return 0


_price = number(float, 0, 1e9, "a price, a number from 0 on")
