"""``scrapy explain URL``: why a crawl treats a URL as it does, and when it may be fetched. Nothing is changed.

0: explained. 2: it is no URL, an argument, a setting or a file is wrong, or the crawl cannot be reached; a line on
standard error says why.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from webcrawl.command import ProjectCommand
from webcrawl.commands.answering import complain, refuse, tell
from webcrawl.commands.arguments import BROAD, unknown_arguments
from webcrawl.configuration import Configuration
from webcrawl.crawls.asked import take_settings_of
from webcrawl.errors import CrawlError, Problem

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <URL>"

    def short_desc(self) -> str:
        return "Say why a crawl treats a URL as it does, and when it may be fetched"

    def long_desc(self) -> str:
        return (
            "How the URL is resolved and compared, what each rule of scope and the robots.txt say to it, what the "
            "frontier has of it, which clock it waits for, and what the fetch log tells. Which crawl is meant say "
            "-s REDIS_URL=... or -s JOBDIR=DIR, running or not; without them the rules alone are asked. Give the -a "
            "and -s of the crawl: they are its rules."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="as to scrapy crawl")
        add("--spider", metavar="NAME", default=BROAD, help="whose crawl (default: %(default)s)")
        add("--via", metavar="PAGE", help="the page on which it is a link, where it is a relative one")
        add("--depth", type=int, metavar="N", help="links from a seed, where the crawl does not know it")
        add("--log", metavar="DIR", action="append", default=[], help="another worker's JOBDIR, for its log")
        add("--json", action="store_true", help="one JSON object")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if not args:
            raise UsageError
        problems = list(_wrong_words(args, opts))
        spider = take_settings_of(opts.spider, self.settings)
        self._domains: object = getattr(spider, "allowed_domains", None)
        problems += self.wrong_settings()
        if problems:
            refuse("explain", problems)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Who asks for help does not wait for all the parts of a crawl.
        from webcrawl.commands.inquiry import WRONG, Inquiry, Question

        assert self.settings is not None
        question = Question(
            args[0], opts.via, opts.depth, opts.spider, opts.spargs, self._domains, list(map(Path, opts.log))
        )
        try:
            inquiry = Inquiry(self.settings, Configuration.from_settings(self.settings), question)
            told = inquiry.as_json() if opts.json else inquiry.as_text()
        except CrawlError as error:
            self.exitcode = complain("explain", [error])
            return
        except WRONG as error:
            # Each wrong line of a file has one of its own here.
            self.exitcode = complain("explain", str(error).splitlines())
            return
        except KeyboardInterrupt:
            sys.stderr.write("scrapy explain: interrupted\n")
            self.exitcode = 1
            return
        tell(told)


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if len(args) > 1:
        yield Problem(args[1], f"is one argument too many behind {args[0]}")
    if opts.depth is not None and opts.depth < 0:
        yield Problem("--depth", f"must be a number of links, 0 or more, not {opts.depth}")
    try:
        opts.spargs = arglist_to_dict(opts.spargs)
    except ValueError:
        yield Problem("-a", "must be NAME=VALUE")
        return
    if opts.spider == BROAD:
        yield from unknown_arguments(opts.spargs)
