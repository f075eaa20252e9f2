"""``scrapy checkpoint JOBDIR DEST``: copy a crawl, running or not; the copy can be resumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from webcrawl.commands.output import refuse_strange_options
from webcrawl.features.checkpoints import checkpoint
from webcrawl.reports import text

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <JOBDIR> <DEST>"

    def short_desc(self) -> str:
        return "Copy a crawl, also while it runs, into a folder that can be resumed"

    def long_desc(self) -> str:
        return (
            "Copy the crawl in JOBDIR to the new folder DEST. The copy is a JOBDIR itself: give it as "
            "-s JOBDIR=DEST to go on from there. Files that never change are shared by hard links where "
            "both folders are on one file system."
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        refuse_strange_options("checkpoint", args)
        if len(args) != 2:
            raise UsageError
        source, target = Path(args[0]), Path(args[1])
        try:
            copied = checkpoint.take(source, target, _progress if sys.stderr.isatty() else None)
        except checkpoint.CheckpointError as error:
            sys.stderr.write(f"scrapy checkpoint: {error}\n")
            self.exitcode = 2
            return
        print(
            f"{target} holds the crawl of {source}: {copied.copied} files copied "
            f"({text.size(copied.bytes)}), {copied.linked} shared.\n"
            f"To go on from there, give the crawl's command with -s JOBDIR={target}"
        )


def _progress(done: int, total: int) -> None:
    share = 100 * done // total if total else 100
    sys.stderr.write(f"\rfrontier {share:3} %" + ("\n" if done >= total else ""))
    sys.stderr.flush()
