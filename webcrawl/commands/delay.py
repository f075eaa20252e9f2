"""``scrapy delay [HOST SECONDS] [JOBDIR|REDIS_URL]``: set the minimum delay of a host in a crawl, running or not, or
list the delays that were set.

Exit status 0: done. 2: the host or the delay is wrong, or there is no such crawl; nothing was changed.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import SERVERS, CrawlCommand
from webcrawl.errors import ConfigurationError, Problem
from webcrawl.reports.text import second
from webcrawl.terminal import crawl_as_json, refuse, tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.control.steering import Delayed, Steering
    from webcrawl.control.stored import StoredCrawl


class Command(CrawlCommand):
    def syntax(self) -> str:
        return "[options] [<HOST> <SECONDS>] [JOBDIR | REDIS_URL]"

    def short_desc(self) -> str:
        return "Set the minimum delay of a host"

    def long_desc(self) -> str:
        return (
            "Set the minimum delay between two requests to a host, or to its whole site if sites have one clock, in "
            "a crawl that runs or will run again. It never shortens a delay: the longest of all minimums holds. "
            "SECONDS may be none, which takes the delay back. Without HOST, list the delays that were set."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        last = args[-1] if args else ""
        # A folder may have a number as its name.
        is_folder = bool(last) and (len(args) != 2 or "/" in last) and Path(last).is_dir()
        is_place = is_folder or last.startswith(SERVERS)
        words = args[:-1] if is_place else list(args)
        self._asked = words
        if len(words) not in (0, 2):
            yield Problem(" ".join(map(printable, words[:4])), "give a host and a number of seconds, or none")
        yield from super().wrong_words(args[-1:] if is_place else [], opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        crawl = self.crawl(opts)
        steering = Steering(crawl, self.settings, opts.spider)
        if not self._asked:
            _tell_all(crawl, steering, as_json=opts.json)
            return
        host, seconds = self._asked
        try:
            found = steering.set_delay(host, None if seconds == "none" else seconds)
        except ConfigurationError as error:
            refuse(self.name, error.problems)
        if opts.json:
            tell(crawl_as_json(crawl, **asdict(found)))
        else:
            tell(f"{crawl.name}: {_in_words(found)}")


def _in_words(found: Delayed) -> str:
    if found.seconds is None:
        return f"{found.key} has no delay of its own any more; the minimum of all is {found.least:g} s"
    if found.seconds <= found.least:
        return f"{found.key} keeps the minimum of all, {found.least:g} s, which is not shorter"
    return f"{found.key} has a delay of at least {found.seconds:g} s"


def _tell_all(crawl: StoredCrawl, steering: Steering, *, as_json: bool) -> None:
    delays = list(steering.situation().delays.values())
    if as_json:
        tell(crawl_as_json(crawl, delays=[asdict(one) for one in delays]))
        return
    tell(f"{crawl.name}: {len(delays)} hosts with a delay of their own")
    for one in delays:
        at = f"{second(one.at)} UTC"
        tell(f"  {printable(one.key)}  {one.seconds:g} s, set by {printable(one.by)}, {at}")
