"""``scrapy report [JOBDIR...]``: write an HTML page with figures and plots of a crawl, at any time.

Exit status 0: written. 2: an argument or a setting is wrong, a log cannot be read, or the page cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand
from webcrawl.commands import output
from webcrawl.commands.fetch_logs import asked
from webcrawl.commands.output import complain, unusable
from webcrawl.reports import page
from webcrawl.reports.sections.crawl import Prices


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

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

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        logs, problems = asked(self, args)
        folders = logs.folders
        if problems:
            self.exitcode = complain("report", problems)
            return
        if opts.output is None and len(folders) > 1:
            self.exitcode = complain("report", ["-o: where is the report of several folders to be written?"])
            return
        title = opts.title or ", ".join(folder.resolve().name for folder in folders)
        prices = Prices(opts.price_per_core_hour, opts.price_per_gb)
        target = folders[0] / page.NAME if opts.output is None else Path(opts.output)
        try:
            text = page.of_logs(folders, title, prices=prices, window_seconds=logs.window_seconds)
            self._write(text, None if opts.output == "-" else target)
        except (ArchiveError, OSError) as error:
            self.exitcode = complain("report", [error])
        except KeyboardInterrupt:
            sys.stderr.write("scrapy report: interrupted\n")
            self.exitcode = 1

    def _write(self, text: str, target: Path | None) -> None:
        try:
            output.write([text], target)
        except OSError as error:
            said = unusable(error, target or "standard output")
            self.exitcode = complain(
                "report", [f"{said}; -o FILE writes it elsewhere, -o - to standard output"]
            )


def _price(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1e9:
        raise argparse.ArgumentTypeError(f"must be a price, a number from 0 on, not {text!r}")
    return number
