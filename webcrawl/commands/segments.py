"""``scrapy segments export DIR | import DIR|FILE...``: the queue of a crawl in parts, and what became of these.

0: done. 2: an argument or a setting is wrong, a file cannot be read or written, or the crawl cannot be reached or is
at work; a line on standard error says why.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from webcrawl.command import ProjectCommand
from webcrawl.commands.answering import complain, refuse
from webcrawl.commands.arguments import BROAD
from webcrawl.crawls.asked import take_settings_of
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXPORT, IMPORT = "export", "import"


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

    def syntax(self) -> str:
        return "export DIR [options] | import <DIR|FILE>... [options]"

    def short_desc(self) -> str:
        return "Write the queue of a crawl as segments, or bring home what crawls of segments came to"

    def long_desc(self) -> str:
        return (
            "export writes what is queued into files of DIR, each with whole domains: scrapy crawl broad -a "
            "segment=FILE fetches the URLs of one and records what it finds. import takes JOBDIRs of such crawls, "
            "or segments: what was fetched is settled, what was found is queued if it is new, the rest stays queued. "
            "Which crawl is meant say -s JOBDIR=DIR or -s REDIS_URL=...; it should rest."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--files", type=_number, metavar="N", help="export: into N files at most, of about one size (1)")
        add(
            "--urls",
            type=_number,
            metavar="N",
            help="export: into files of N URLs, and what their last domain has more",
        )
        add("--spider", metavar="NAME", default=BROAD, help="whose crawl on Redis (default: %(default)s)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if not args:
            raise UsageError
        problems = list(_wrong_words(args, opts))
        take_settings_of(opts.spider, self.settings)
        problems += self.wrong_settings()
        if problems:
            refuse("segments", problems)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Who asks for help does not wait for the machine.
        from webcrawl.commands.segmenting import WRONG, Segmenting

        assert isinstance(self.settings, Settings)
        try:
            segmenting = Segmenting(self.settings, opts.spider)
            if args[0] == EXPORT:
                segmenting.export(Path(args[1]), opts.files or 1, opts.urls)
            else:
                segmenting.bring_home([Path(name) for name in args[1:]])
            self.exitcode = 0
        except WRONG as error:
            self.exitcode = complain("segments", [error])
        except KeyboardInterrupt:
            sys.stderr.write("scrapy segments: interrupted; what was done may be done again\n")
            self.exitcode = 1


def _wrong_words(args: Sequence[str], opts: argparse.Namespace) -> Iterator[Problem]:
    what, *names = args
    if what not in (EXPORT, IMPORT):
        yield Problem(what, f"is no command of segments; there are {EXPORT} and {IMPORT}")
    elif what == EXPORT and len(names) != 1:
        yield Problem(EXPORT, "takes one folder, to write the segments into")
    elif what == IMPORT and not names:
        yield Problem(IMPORT, "what? give JOBDIRs of crawls of segments, segments, or folders of segments")
    if what == IMPORT and (opts.files or opts.urls):
        yield Problem("--files" if opts.files else "--urls", f"is for {EXPORT}")
    if opts.files and opts.urls:
        yield Problem("--files", "says the same as --urls; give one of them")


def _number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 1_000_000_000:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 1,000,000,000, not {text!r}")
    return number
