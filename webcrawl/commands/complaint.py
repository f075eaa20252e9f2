"""``scrapy complaint DOMAIN [JOBDIR...]``: what was fetched there, as a letter to who runs the domain.

0: told, be it that there was nothing. 2: an argument or a setting is wrong, or a log cannot be read.
"""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.archive.errors import ArchiveError
from webcrawl.command import ProjectCommand
from webcrawl.commands import letter
from webcrawl.commands.answering import complain, tell
from webcrawl.commands.fetch_logs import asked
from webcrawl.errors import Problem
from webcrawl.reports.complaint import Complaint
from webcrawl.reports.moments import read_moment
from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTED = 1000
"""Requests that are listed unless said otherwise."""
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

    def syntax(self) -> str:
        return "DOMAIN [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Tell what was fetched at a domain, when, how fast, under which robots.txt"

    def long_desc(self) -> str:
        return (
            "Tell from the fetch logs of all workers, compressed parts too, what was fetched at a domain and its "
            "subdomains, ready to be sent to its owner. Without JOBDIR the setting's is taken. Dates are UTC, as "
            "2026-03-01 or 2026-03-01T12:30; a date alone behind --to is that day to its end."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--from", dest="begin", type=begin_of, metavar="DATE", help="leave out what began before")
        add("--to", dest="end", type=end_of, metavar="DATE", help="leave out what began later")
        add(
            "--list",
            dest="listed",
            type=number,
            default=LISTED,
            metavar="N",
            help="list at most so many requests (default: %(default)s)",
        )
        add("--json", action="store_true", help="as one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise UsageError
        logs, wrong = asked(self, args[1:])
        if problems := [*_wrong(args[0], opts), *wrong]:
            self.exitcode = complain("complaint", problems)
            return
        complaint = Complaint(domain_of(args[0]) or "", opts.begin, opts.end, opts.listed)
        try:
            for request in logs.requests():
                complaint.take(request)
        except (ArchiveError, OSError) as error:
            self.exitcode = complain("complaint", [error])
            return
        about = letter.About(logs.configuration.user_agent, opts.begin, opts.end)
        if opts.json:
            tell(json.dumps(letter.as_object(complaint, about), indent=2))
        else:
            tell("\n".join(letter.as_lines(complaint, about)))


def domain_of(text: str) -> str | None:
    """The host that is named, as URLs in the log name it; of a URL its host. None when it is none."""
    url = resolve(text if "://" in text else f"http://{text}/", "about:blank")
    if url is None or not url.startswith(("http://", "https://")):
        return None
    host = host_of(url).rstrip(".")
    return host if _HOST.fullmatch(host) else None


def begin_of(text: str) -> float:
    return _moment(text, ends=False)


def end_of(text: str) -> float:
    return _moment(text, ends=True)


def number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 10_000_000:
        raise argparse.ArgumentTypeError(f"must be a whole number up to 10000000, not {text!r}")
    return int(text)


def _moment(text: str, *, ends: bool) -> float:
    try:
        return read_moment(text, ends=ends)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-03-01 or 2026-03-01T12:30, not {text!r}"
        ) from None


def _wrong(domain: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if domain_of(domain) is None:
        yield Problem(domain, "is no domain such as example.org")
    if opts.begin is not None and opts.end is not None and opts.begin >= opts.end:
        yield Problem("--to", "must be later than --from")
