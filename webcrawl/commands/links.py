"""``scrapy links out|in|graph|export``: what the link logs of a crawl tell.

0: answered, also when there is nothing to tell. 2: an argument or a setting is wrong, a log cannot be read, a library
is missing, or the file cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.command import ProjectCommand
from webcrawl.commands.answering import complain, refuse
from webcrawl.configuration import Configuration
from webcrawl.configuration.vocabulary import nearest
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKS_OF_A_URL = ("out", "in")
WORDS = (*ASKS_OF_A_URL, "graph", "export")
_ONLY = {
    "limit": ASKS_OF_A_URL,
    "of": ("graph",),
    "types": ("graph",),
    "nofollow": ("graph",),
    "fetched": ("graph",),
    "top": ("graph",),
    "no_rank": ("graph",),
    "output": ("graph", "export"),
}
"""Options that are not for all of them; unset they are None."""


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it

    def syntax(self) -> str:
        return "<out URL|in URL|graph|export> [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Tell the links of a page, the links to it, or the graph of all pages or hosts"

    def long_desc(self) -> str:
        return (
            "out: the links of a page. in: the links to a URL, fetched or not. graph: the graph of hosts or of "
            "pages, with in-degree and PageRank, to look at or in a form that graph tools read. export: all links as "
            "Parquet or TSV. What is read are the link logs of all JOBDIRs, also while the crawl runs; without "
            "JOBDIR the setting's."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--json", action="store_true", help="a JSON object a line")
        add("--limit", type=_whole, metavar="N", help="out, in: most links told; 0: all (1000)")
        add("--of", metavar="WHAT", help="graph: hosts or pages (hosts)")
        add("--types", metavar="TYPE,...", help="graph: links of these types alone, such as a,area,redirect")
        add("--nofollow", action="store_true", default=None, help="graph: with links marked nofollow")
        add(
            "--fetched",
            action="store_true",
            default=None,
            help="graph: only what was fetched, no mere targets",
        )
        add(
            "--no-rank", action="store_true", default=None, help="graph: without PageRank, which needs igraph"
        )
        add("--top", type=_whole, metavar="N", help="graph: how many of the first are told; 0: all (20)")
        add(
            "-o",
            "--output",
            metavar="FILE",
            type=Path,
            help="graph: .graphml, .net, .tsv or .parquet; export: .parquet or .tsv",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if not args or (args[0] in ASKS_OF_A_URL and not args[1:]):
            raise UsageError
        problems = list(_wrong_words(args[0], opts))
        problems += self.wrong_settings()
        if problems:
            refuse("links", problems)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Who asks for help does not wait for all that can be asked.
        from webcrawl.commands.linking import WRONG, Question

        assert self.settings is not None
        try:
            Question(Configuration.from_settings(self.settings), opts).answer(args[0], args[1:])
            self.exitcode = 0
        except WRONG as error:
            self.exitcode = complain("links", str(error).splitlines())
        except KeyboardInterrupt:
            sys.stderr.write("scrapy links: interrupted\n")
            self.exitcode = 1


def _wrong_words(what: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if what not in WORDS:
        meant = nearest(what, WORDS)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(WORDS)}"
        yield Problem(what, f"is nothing that links can tell; {hint}")
        return
    for option, owners in _ONLY.items():
        if getattr(opts, option) is not None and what not in owners:
            yield Problem(f"--{option.replace('_', '-')}", f"is for {' and '.join(owners)}, not for {what}")
    if opts.of not in (None, "hosts", "pages"):
        yield Problem("--of", f"must be hosts or pages, not {opts.of}")
    endings = {"graph": (".graphml", ".net", ".tsv", ".parquet"), "export": (".parquet", ".tsv")}.get(what)
    if endings and opts.output is not None and opts.output.suffix not in endings:
        yield Problem("--output", f"must end in {', '.join(endings)}, not {opts.output}")
    if what == "export" and opts.output is None:
        yield Problem("--output", "is needed: give a file that ends in .parquet or .tsv")


def _whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 upwards, not {text!r}")
    return number
