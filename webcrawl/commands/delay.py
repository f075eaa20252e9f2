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
            delayed = steering.set_delay(host, None if seconds == "none" else seconds)
        except ConfigurationError as error:
            refuse(self.name, error.problems)
        if opts.json:
            tell(crawl_as_json(crawl, **asdict(delayed)))
        else:
            tell(f"{crawl.name}: {_in_words(delayed)}")


def _in_words(delayed: Delayed) -> str:
    if delayed.seconds is None:
        return f"{delayed.key} has no delay of its own any more; the minimum of all is {delayed.least:g} s"
    if delayed.seconds <= delayed.least:
        return f"{delayed.key} keeps the minimum of all, {delayed.least:g} s, which is not shorter"
    return f"{delayed.key} has a delay of at least {delayed.seconds:g} s"


def _tell_all(crawl: StoredCrawl, steering: Steering, *, as_json: bool) -> None:
    delays = list(steering.situation().delays.values())
    if as_json:
        tell(crawl_as_json(crawl, delays=[asdict(delay) for delay in delays]))
        return
    tell(f"{crawl.name}: {len(delays)} hosts with a delay of their own")
    for delay in delays:
        at = f"{second(delay.at)} UTC"
        tell(f"  {printable(delay.key)}  {delay.seconds:g} s, set by {printable(delay.by)}, {at}")
