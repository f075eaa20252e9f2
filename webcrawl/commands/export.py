"""``scrapy export tree|urls|seeds|parquet [JOBDIR...]``: what a crawl leaves, in forms that others read.

0: written. 2: an argument or a setting is wrong, a log cannot be read, or the file cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.command import ProjectCommand
from webcrawl.commands.answering import complain, refuse
from webcrawl.commands.arguments import BROAD
from webcrawl.configuration import Configuration
from webcrawl.configuration.vocabulary import nearest
from webcrawl.crawls.asked import take_settings_of
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

STATES = ("done", "failed", "refused", "queued")
FORMS = {"tree": ("text", "json", "html"), "urls": ("text", "json"), "seeds": ("text",), "parquet": ()}
_ONLY = {"state": "urls", "depth": "tree", "most": "tree", "by": "seeds"}


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

    def syntax(self) -> str:
        return "<tree|urls|seeds|parquet> [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Write the sites of a crawl, its URLs by state, seeds for the next one, or its log as Parquet"

    def long_desc(self) -> str:
        return (
            "tree: all sites with counts and bytes, down to folders. urls: lists by state. seeds: for each site the "
            "page from which it is best entered. parquet: the fetch log, a column a field. What is read are the "
            "fetch logs of all JOBDIRs, compressed parts too, also while the crawl runs; without JOBDIR the "
            "setting's. The states of URLs are those of the frontier: that of the JOBDIR, or of -s REDIS_URL=..."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", type=Path, help="write there instead of to standard output")
        add("--format", metavar="FORM", help="text, json, or html for a tree (default: text)")
        add("--state", metavar="STATE", help="urls: done, failed, refused or queued")
        add("--depth", type=_whole, metavar="N", help="tree: segments of paths that are told apart (2)")
        add("--most", type=_whole, metavar="N", help="tree: largest children of each site; 0: all (50)")
        add("--by", metavar="SITE", help="seeds: one for each host, or each domain (host)")
        add("--spider", metavar="NAME", default=BROAD, help="whose crawl on Redis (default: %(default)s)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if not args:
            raise UsageError
        problems = list(_wrong_words(args[0], opts))
        take_settings_of(opts.spider, self.settings)
        problems += self.wrong_settings()
        if problems:
            refuse("export", problems)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Who asks for help does not wait for all that can be exported.
        from webcrawl.commands.exporting import WRONG, Export

        assert self.settings is not None
        try:
            export = Export(self.settings, Configuration.from_settings(self.settings), args[1:], opts)
            if export.problems:
                self.exitcode = complain("export", export.problems)
                return
            export.carry_out(args[0])
        except WRONG as error:
            self.exitcode = complain("export", str(error).splitlines())
        except KeyboardInterrupt:
            sys.stderr.write("scrapy export: interrupted\n")
            self.exitcode = 1


def _wrong_words(what: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if what not in FORMS:
        meant = nearest(what, tuple(FORMS))
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(FORMS)}"
        yield Problem(what, f"is nothing that can be exported; {hint}")
        return
    for option, owner in _ONLY.items():
        if getattr(opts, option) is not None and what != owner:
            yield Problem(f"--{option}", f"is for {owner}, not for {what}")
    if opts.format is not None and opts.format not in FORMS[what]:
        forms = " or ".join(FORMS[what]) or "no --format: it is one itself"
        yield Problem("--format", f"{what} takes {forms}, not {opts.format}")
    if what == "urls" and opts.state not in STATES:
        yield Problem("--state", f"must be one of {', '.join(STATES)}, not {opts.state or 'nothing'}")
    if what == "seeds" and opts.by not in (None, "host", "domain"):
        yield Problem("--by", f"must be host or domain, not {opts.by}")
    if what == "parquet" and opts.output is None:
        yield Problem("--output", "is needed: Parquet is written to a file")


def _whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1,000,000, not {text!r}")
    return number
