"""``scrapy report [JOBDIR...]``: write an HTML page with figures and plots of a crawl, at any time.

Exit status 0: written. 2: an argument or a setting is wrong, a log cannot be read, or the page cannot be written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl import terminal as output
from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.fetch_logs import open_logs
from webcrawl.errors import Problem
from webcrawl.politeness.groups import GroupsError
from webcrawl.terminal import complain, unusable

if TYPE_CHECKING:
    from collections.abc import Iterator


class Command(ProjectCommand):
    expected = (ArchiveError, GroupsError, OSError)

    def syntax(self) -> str:
        return "[JOBDIR ...] [-o FILE] [options]"

    def short_desc(self) -> str:
        return "Write a page with figures and plots of a crawl, also while it runs"

    def long_desc(self) -> str:
        return (
            "Write one self-contained HTML page from the fetch logs of all workers: whether the crawl was polite, "
            "pages and bits over time, statuses, types, sizes, hosts, errors with example URLs, growth of the "
            "frontier, and the cost of the crawl. Without JOBDIR, that of the settings is used; without FILE, the "
            "page is its report.html."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "-o",
            "--output",
            metavar="FILE",
            help="file to write, - for standard output (report.html in the JOBDIR)",
        )
        add("--title", metavar="TEXT", help="the title of the page (the name of the crawl)")
        add("--price-per-core-hour", type=_price, metavar="X", help="price of an hour of one core")
        add("--price-per-gb", type=_price, metavar="X", help="price of a received gigabyte")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._logs, problems = open_logs(self, args)
        yield from problems
        given = list(dict.fromkeys(map(Path, args)))
        self._target = given[0] if given else self._logs.configuration.jobdir
        if not problems and opts.output is None and len(given) > 1:
            yield Problem("-o", "is needed for the report of several folders")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.report_facts import crawl_name, report_facts
        from webcrawl.reports import page
        from webcrawl.reports.sections.crawl import Prices

        folders = self._logs.folders
        assert self._target is not None
        is_one = opts.output is None and folders != [self._target]
        title = opts.title or (self._target.resolve().name if is_one else crawl_name(folders))
        about = report_facts(folders, self._logs.configuration)
        prices = Prices(opts.price_per_core_hour, opts.price_per_gb)
        target = self._target / page.NAME if opts.output is None else Path(opts.output)
        window_seconds = self._logs.window_seconds
        text = page.of_logs(folders, title, about=about, prices=prices, window_seconds=window_seconds)
        try:
            output.write([text], None if opts.output == "-" else target)
        except OSError as error:
            message = unusable(error, target)
            return complain(self.name, [f"{message}; -o FILE writes it elsewhere, -o - to standard output"])
        return 0


_price = number(float, 0, 1e9, "a price, a number from 0 on")
