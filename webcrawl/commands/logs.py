"""``scrapy logs [JOBDIR ...] [--host HOST]``: the logs of a crawl in the order of time, or the story of one host.

All times are UTC. Exit status 0: done, even if nothing was found. 2: an argument or a setting is wrong, or a folder
has no logs. 1: interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand
from webcrawl.commands.complaint import parse_begin, parse_domain, parse_end
from webcrawl.crawl.jobdir import worker_folders
from webcrawl.errors import Problem
from webcrawl.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.reports.logs import Event, HostFilter

FOLLOW_SECONDS = 0.5
_NAMED = 20
"""The number of damaged places that are reported one by one."""


class Command(ProjectCommand):
    expected = (OSError,)
    json_help = "print one JSON object a line"

    def syntax(self) -> str:
        return "[JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Show the logs of a crawl, or all that they say of one host"

    def long_desc(self) -> str:
        return (
            "Show the messages, errors and requests of a crawl in the order of time, from crawl.log, errors.log, "
            "unanticipated.log and fetch.jsonl with their rotated and compressed files. --host selects what is about "
            "one host. Give the JOBDIRs of all workers; without JOBDIR, that of the settings is used. Dates are UTC, "
            "such as 2026-03-01 or 2026-03-01T12:30; --to with a date alone includes that day."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--host", metavar="HOST", help="only what is about this host: its name, or a URL of it")
        add("--from", dest="begin", type=parse_begin, metavar="DATE", help="only events from this time on")
        add("--to", dest="end", type=parse_end, metavar="DATE", help="only events up to this time")
        add("--follow", action="store_true", help="go on with what is logged from now on, until Ctrl-C")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._folders = list(dict.fromkeys(map(Path, args)))
        if not args and not self.wrong_settings() and (jobdir := self.configuration.jobdir) is not None:
            self._folders = [jobdir]
        # The JOBDIR of several workers has some logs of all of them.
        self._folders += [one for folder in self._folders for one in worker_folders(folder)]
        if not self._folders:
            yield Problem("", "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
        for folder in self._folders:
            yield from _wrong_folder(folder)
        if opts.host is not None and parse_domain(opts.host) is None:
            yield Problem(opts.host, "is no host such as www.example.org")
        if opts.begin is not None and opts.end is not None and opts.begin >= opts.end:
            yield Problem("--to", "must be later than --from")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        from webcrawl.reports.logs import Logs

        self._damaged = 0
        logs = Logs(
            self._folders,
            self._on_damage,
            host=None if opts.host is None else self._filter(parse_domain(opts.host) or ""),
            begin=opts.begin,
            end=opts.end,
        )
        try:
            _show(logs.events(follow=opts.follow), as_json=opts.json)
            while opts.follow:
                _show(logs.later(), as_json=opts.json)
                time.sleep(FOLLOW_SECONDS)
        except KeyboardInterrupt:
            if not opts.follow:
                raise
        finally:
            logs.close()
            if self._damaged > _NAMED:
                sys.stderr.write(f"{self._damaged - _NAMED} more damaged places\n")

    def _filter(self, host: str) -> HostFilter:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.rules import CrawlRules
        from webcrawl.reports.logs import HostFilter

        key = CrawlRules(self.configuration).politeness_key().of_url(f"http://{host}/")
        return HostFilter(host, key)

    def _on_damage(self, sentence: str) -> None:
        self._damaged += 1
        if self._damaged <= _NAMED:
            sys.stderr.write(f"{sentence}\n")


def _show(events: Iterable[Event], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            tell(json.dumps(event.as_object()))
        else:
            tell("\n".join(event.as_lines()))


def _wrong_folder(folder: Path) -> Iterator[Problem]:
    from webcrawl.reports.logs import NAMES
    from webcrawl.rotated_log import parts

    if not folder.is_dir():
        yield Problem(str(folder), "is no folder")
        return
    try:
        if any((folder / name).exists() or parts(folder / name) for name in NAMES):
            return
    except OSError as error:
        yield Problem(str(folder), error.strerror or str(error))
        return
    yield Problem(str(folder), f"holds no logs ({', '.join(NAMES)} or their rotated files)")
