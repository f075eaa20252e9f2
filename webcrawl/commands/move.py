"""``scrapy move SOURCE TARGET``: a crawl goes on with another storage: from a JOBDIR to Redis, and back.

Exit status 0: moved. 1: the copy is not what the source has, so that the source goes on. 2: an argument or a
setting is wrong, the crawl is running, or one of both places cannot be used; a line on standard error says why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import SERVERS, ProjectCommand
from webcrawl.control.selection import apply_spider_settings
from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import Problem
from webcrawl.terminal import complain, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.control.moving import MoveEnd


class Command(ProjectCommand):
    def syntax(self) -> str:
        return "[options] <JOBDIR | REDIS_URL> <JOBDIR | REDIS_URL>"

    def short_desc(self) -> str:
        return "Move a crawl from a JOBDIR to Redis, or back"

    def long_desc(self) -> str:
        return (
            "Move a crawl that does not run from the first place to the second: from a JOBDIR to Redis, where any"
            " number of workers go on with it, from Redis to a new JOBDIR, or from one Redis to another. URLs "
            "with their states, queues, clocks, robots.txt, what features know and what operators have changed "
            "move. The archive and the logs stay. When the copy is complete and agrees with the source, the crawl"
            " cannot go on at the first place any more."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--spider",
            metavar="NAME",
            help=f"spider of a crawl on Redis (default: {BROAD}, or that of the JOBDIR)",
        )
        parser.add_argument(
            "--workers", action="store_true", help="the second place is a JOBDIR for a crawl with WORKERS"
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if len(args) != 2:
            yield Problem("", f"a move needs two places, each a JOBDIR or a REDIS_URL, not {len(args)}")
            return
        for place in args:
            if "://" in place and not place.startswith(SERVERS):
                yield Problem(place, "is no REDIS_URL, such as redis://10.0.0.5:6379/0")
        if args[0] == args[1]:
            yield Problem(args[1], "is the place where the crawl is")
        if not _is_server(args[0]) and not Path(args[0]).is_dir():
            yield Problem(args[0], "is no folder")
        if opts.workers and _is_server(args[1]):
            yield Problem("--workers", "is for a JOBDIR; any number of workers share a crawl on Redis")
        opts.spider = opts.spider or _spider_in(args[0]) or BROAD
        apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.control.moving import CrawlMove, FolderEnd, MoveDisagrees, ServerEnd

        assert self.settings is not None
        places: list[MoveEnd] = []
        for number, word in enumerate(args):
            if _is_server(word):
                places.append(ServerEnd(self.settings, word, opts.spider, _say))
            else:
                has_workers = opts.workers if number else None
                places.append(FolderEnd(Path(word), opts.spider, has_workers=has_workers))
        try:
            for line in CrawlMove(self.settings, places[0], places[1], opts.spider).carry_out():
                tell(line)
        except MoveDisagrees as error:
            complain(self.name, [error])
            return 1
        return 0


def _is_server(place: str) -> bool:
    return place.startswith(SERVERS)


def _spider_in(place: str) -> str | None:
    """Return the spider of the crawl in a JOBDIR; None if it is not known."""
    from webcrawl.crawl.jobdir import SPIDER

    try:
        return (Path(place) / SPIDER).read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
