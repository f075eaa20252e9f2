"""``scrapy audit [JOBDIR...]``: check the politeness of a crawl by its fetch logs alone.

Exit status 0: no violation. 1: a violation. 2: an argument or a setting is wrong, or a log cannot be read.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from webcrawl.archive.disk import ArchiveError
from webcrawl.audit import TOLERANCE_SECONDS
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.fetch_logs import open_logs
from webcrawl.politeness.groups import GroupsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.errors import Problem

seconds = number(float, 0, 3600, "a number of seconds from 0 to 3600")


class Command(ProjectCommand):
    expected = (ArchiveError, GroupsError, OSError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Check the politeness of a crawl from its fetch logs and list violations"

    def long_desc(self) -> str:
        return (
            "Check from the fetch logs of all workers, compressed parts included, that each request kept the "
            "clock of its politeness key and the clocks that keys share, and that its robots.txt was known. "
            "Without JOBDIR, that of the settings is used. If an older log lacks a delay, it is computed from "
            "the POLITENESS settings. Shared clocks in the settings apply to every request. The exit status is "
            "1 if there is a violation."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--tolerance",
            type=seconds,
            default=TOLERANCE_SECONDS,
            metavar="S",
            help="tolerance for differences between machines' clocks, in seconds (default: %(default)s)",
        )
        parser.add_argument(
            "--least",
            type=seconds,
            default=0.0,
            metavar="S",
            help="minimum delay for every request, even if the log has a shorter one",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._logs, problems = open_logs(self, args)
        yield from problems

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.audit.command import carry_out
        from webcrawl.crawl.report_facts import audit_rules

        rules = audit_rules(self._logs.configuration, opts.tolerance, opts.least)
        return carry_out(self._logs, rules, as_json=opts.json)
