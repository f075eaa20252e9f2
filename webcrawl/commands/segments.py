"""``scrapy segments export DIR | import DIR|FILE...``: split the queue of a crawl into segments, and merge their
results.

Exit status 0: done. 2: an argument or a setting is wrong, a file cannot be read or written, or the crawl cannot be
reached or is running; a line on standard error says why.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import Settings

from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.control.selection import apply_spider_settings
from webcrawl.errors import CrawlError, Problem
from webcrawl.politeness.groups import GroupsError
from webcrawl.scope.patterns import PatternsError
from webcrawl.terminal import tell
from webcrawl.urls.host_rules import HostRulesError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


WRONG = (CrawlError, ArchiveError, OSError, PatternsError, HostRulesError, GroupsError)
"""Expected errors; their messages name the cause."""

EXPORT, IMPORT = "export", "import"


class Command(ProjectCommand):
    expected = WRONG
    interrupted = "interrupted; the command can be repeated"
    spider_help = "spider of the crawl on Redis"

    def syntax(self) -> str:
        return "export DIR [options] | import <DIR|FILE>... [options]"

    def short_desc(self) -> str:
        return "Write the queue of a crawl as segments, or import the results of segments"

    def long_desc(self) -> str:
        return (
            "export: write the queued URLs into files in DIR, each with whole domains. scrapy crawl broad -a "
            "segment=FILE fetches the URLs of one file and records the links. import: take the JOBDIRs of such "
            "crawls, or segments: fetched URLs are settled, new URLs are queued, all others stay queued. -s "
            "JOBDIR=DIR or -s REDIS_URL=... selects the crawl, which should not be running."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--files",
            type=_number,
            metavar="N",
            help="export: maximum number of files, of about equal size (1)",
        )
        add(
            "--urls",
            type=_number,
            metavar="N",
            help="export: number of URLs per file; a domain is never divided",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if not args:
            yield Problem("", "no command; give export with a folder, or import with folders or files")
            return
        yield from _wrong_words(args, opts)
        apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert isinstance(self.settings, Settings)
        # Scrapy imports all commands at each start.
        from webcrawl.features.segments.command import SegmentTransfer

        transfer = SegmentTransfer(self.settings, opts.spider)
        if args[0] == EXPORT:
            lines = transfer.export(Path(args[1]), opts.files or 1, opts.urls)
        else:
            lines = transfer.merge([Path(name) for name in args[1:]])
        for line in lines:
            tell(line)


def _wrong_words(args: Sequence[str], opts: argparse.Namespace) -> Iterator[Problem]:
    what, *names = args
    if what not in (EXPORT, IMPORT):
        yield Problem(what, f"is no subcommand of segments; there are {EXPORT} and {IMPORT}")
    elif what == EXPORT and len(names) != 1:
        yield Problem(EXPORT, "takes one argument, the folder for the segments")
    elif what == IMPORT and not names:
        yield Problem(
            IMPORT, "nothing to import; give JOBDIRs of crawls of segments, segments, or folders of segments"
        )
    if what == IMPORT and (opts.files or opts.urls):
        yield Problem("--files" if opts.files else "--urls", f"is for {EXPORT}")
    if opts.files and opts.urls:
        yield Problem("--files", "excludes --urls; give only one of the two")


_number = number(int, 1, 1_000_000_000, "a number from 1 to 1,000,000,000")
