"""``scrapy add URL ... [JOBDIR|REDIS_URL]``: add URLs to the queue of a crawl, running or not.

Exit status 0: all URLs are queued, or were known. 1: some were refused. 2: an argument or a setting is wrong, or
there is no such crawl; nothing was changed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from webcrawl.command import CrawlCommand, words_and_place
from webcrawl.errors import Problem
from webcrawl.terminal import crawl_as_json, tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Command(CrawlCommand):
    def syntax(self) -> str:
        return "[options] <URL> ... [JOBDIR | REDIS_URL]"

    def short_desc(self) -> str:
        return "Add URLs to the queue of a crawl"

    def long_desc(self) -> str:
        return (
            "Add URLs to the queue of a crawl. The rules of scope are those of links, and their verdict is shown for "
            "each URL, with what robots.txt says. A running crawl queues them within seconds; otherwise they "
            "wait for its next run. They do not allow hosts with private addresses, as seeds do. With --next, the "
            "next page that is requested of their host is theirs, also of URLs that are queued already."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--next", action="store_true", help="fetch them before all other URLs of their hosts")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._urls, place = words_and_place(args)
        if not self._urls:
            yield Problem("", "no URL; give one or several")
        yield from super().wrong_words(place, opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        crawl = self.crawl(opts)
        rows = Steering(crawl, self.settings, opts.spider).add(self._urls, are_first=opts.next)
        running = bool(crawl.running_workers())
        if opts.json:
            tell(crawl_as_json(crawl, rows=[asdict(row) for row in rows], running=running))
        else:
            for row in rows:
                tell(f"{row.verdict:<8} {printable(row.url)}: {row.sentence}")
            if any(row.verdict == "queued" for row in rows) and not running:
                tell(f"{crawl.name}: no process works on it; the URLs are queued when it runs again")
        return 1 if any(row.verdict in ("refused", "invalid") for row in rows) else 0
