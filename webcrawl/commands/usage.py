"""``scrapy usage [JOBDIR...]``: what the pages of each site may be used for, as a table or a sheet to be signed.

Exit status 0: done. 2: an argument or a setting is wrong, a log cannot be read, or the sheet cannot be written.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.fetch_logs import open_logs
from webcrawl.reports import text
from webcrawl.robots.purposes import PURPOSES
from webcrawl.terminal import complain, table, tell
from webcrawl.terminal import write as write_text
from webcrawl.version import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.errors import Problem
    from webcrawl.reports.usage import UsageTable

LIMIT = 20


class Command(ProjectCommand):
    expected = (ArchiveError, OSError)

    def syntax(self) -> str:
        return "[JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Show what the pages of each site may be used for"

    def long_desc(self) -> str:
        return (
            "Show for each site (host) how many of its pages may be used for search, as input of models, for the "
            "training of models, and for text and data mining, as the sites say it. --sheet writes the table of all "
            "sites with their statements, for a data sheet. The input is the fetch logs of all JOBDIRs, also while "
            "the crawl runs; without JOBDIR, that of the settings is used."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--limit",
            type=number(int, 0, 1_000_000, "a number from 0 to 1,000,000"),
            default=LIMIT,
            metavar="N",
            help="so many sites, those with most pages; 0: all (default: %(default)s)",
        )
        add(
            "--json",
            action="store_true",
            help="one object per site and line, the largest first, all sites last",
        )
        add("--sheet", metavar="FILE", type=Path, help="write a sheet of all sites in Markdown, to be signed")
        add("--signed-by", metavar="NAME", default="", help="who signs the sheet")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        from webcrawl.errors import Problem

        if opts.signed_by and opts.sheet is None:
            yield Problem("--signed-by", "is for --sheet")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.reports import usage

        logs, problems = open_logs(self, args)
        if problems:
            return complain(self.name, problems)
        counted = usage.UsageTable()
        for line in logs.lines():
            counted.add(line)
        names = ", ".join(folder.resolve().name for folder in logs.folders)
        if opts.sheet is not None:
            purposes = logs.configuration.usage_purposes
            about = usage.SheetFacts(names, f"webcrawl {__version__}", purposes, time.time(), opts.signed_by)
            write_text((f"{line}\n" for line in usage.sheet(counted, about)), opts.sheet)
            return 0
        shown = usage.largest(counted.sites())
        left = len(shown) - opts.limit if opts.limit else 0
        shown = shown[: opts.limit or None]
        if opts.json:
            for site in (*shown, counted.total()):
                tell(json.dumps(usage.as_object(site)))
            return 0
        tell("\n".join(_as_text(counted, names, shown, left)))
        return 0


def _as_text(counted: UsageTable, names: str, shown: list[Any], left: int) -> Iterator[str]:
    from webcrawl.reports import usage

    pages = text.things(counted.recorded, "page")
    yield f"{names}: {pages} with a record of what they may be used for"
    if counted.unrecorded:
        yield f"{text.things(counted.unrecorded, 'page')} without one, fetched with USAGE_RECORD off"
    if not counted.recorded:
        return
    rows = [usage.cells(site) for site in (*shown, counted.total())]
    yield ""
    yield from table([["site", "pages", *PURPOSES, "withheld"], *rows], 1)
    if left > 0:
        yield f"and {text.things(left, 'more site')}: --limit 0"
