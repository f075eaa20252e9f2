"""``scrapy explain URL``: explain how a crawl treats a URL, and when it may be fetched. Nothing is changed.

Exit status 0: explained. 2: the URL, an argument, a setting or a file is wrong, or the crawl cannot be reached; a
line on standard error says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.conf import arglist_to_dict

from webcrawl.command import ProjectCommand
from webcrawl.config import setting_value
from webcrawl.control.selection import apply_spider_settings
from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import Problem
from webcrawl.terminal import complain, instead, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Command(ProjectCommand):
    spider_help = "spider of the crawl"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[options] <URL>"

    def short_desc(self) -> str:
        return "Explain why a crawl treats a URL as it does, and when it may be fetched"

    def long_desc(self) -> str:
        return (
            "Show how a URL is resolved and compared, the results of the rules of scope and of robots.txt, its "
            "state in the frontier, the clock that it waits for, and its lines in the fetch log. -s "
            "REDIS_URL=... or -s JOBDIR=DIR selects the crawl, running or not; without them, only the rules are "
            "evaluated. The rules are those with which the crawl was started; a rule given by -s or -a is stronger."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "-a",
            dest="spargs",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="argument of the spider, as for scrapy crawl",
        )
        add("--via", metavar="PAGE", help="the page with the link, if the URL is relative")
        add("--depth", type=int, metavar="N", help="depth of the URL, if the crawl does not know it")
        add(
            "--log",
            metavar="DIR",
            action="append",
            default=[],
            help="JOBDIR of another worker, for its fetch log",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if not args:
            yield Problem("", "no URL; give one")
            return
        yield from _wrong_words(args, opts)
        spider = apply_spider_settings(opts.spider, self.settings)
        if spider is not None and not getattr(spider, "follows_sitemaps", False):
            # As the crawl of this spider reads the empty value.
            self.settings.set("SITEMAPS_FOLLOW", setting_value(self.settings, "SITEMAPS_FOLLOW") or False)
        self._domains: object = getattr(spider, "allowed_domains", None)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        assert self.settings is not None
        # Scrapy imports all commands at each start.
        from webcrawl.control.inquiry import WRONG, Inquiry, Question

        question = Question(
            args[0], opts.via, opts.depth, opts.spider, opts.spargs, self._domains, list(map(Path, opts.log))
        )
        try:
            inquiry = Inquiry(self.settings, self.configuration, question)
            tell(inquiry.as_json() if opts.json else inquiry.as_text())
        except WRONG as error:
            return complain(self.name, self.lines(error))
        return None


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if len(args) > 1:
        yield Problem(args[1], f"is one argument too many after {args[0]}{instead(args[1])}")
    if opts.depth is not None and opts.depth < 0:
        yield Problem("--depth", f"must be a number of links, 0 or more, not {opts.depth}")
    try:
        opts.spargs = arglist_to_dict(opts.spargs)
    except ValueError:
        yield Problem("-a", "must be NAME=VALUE")
        return
    if opts.spider == BROAD:
        from webcrawl.crawl.arguments import unknown_arguments

        yield from unknown_arguments(opts.spargs)
