"""``scrapy checkpoint JOBDIR DEST``: copy a crawl, running or not; the copy can be resumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand
from webcrawl.errors import Problem
from webcrawl.reports import text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Command(ProjectCommand):
    def syntax(self) -> str:
        return "[options] <JOBDIR> <DEST>"

    def short_desc(self) -> str:
        return "Copy a crawl, also while it runs, into a folder that can be resumed"

    def long_desc(self) -> str:
        return (
            "Copy the crawl in JOBDIR to the new folder DEST, also while it runs. The copy is a JOBDIR: resume "
            "it with -s JOBDIR=DEST. Files that never change are hard links if both folders are on one file "
            "system."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if len(args) != 2:
            yield Problem("JOBDIR DEST", f"are two folders, not {len(args)}")

    def wrong_settings(self) -> list[Problem]:
        """Return nothing: a checkpoint depends on no setting."""
        return []

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.features.checkpoints import checkpoint

        source, target = Path(args[0]), Path(args[1])
        copied = checkpoint.take(source, target, _progress if sys.stderr.isatty() else None)
        print(
            f"{target} holds the crawl of {source}: {copied.copied} files copied "
            f"({text.size(copied.bytes)}), {copied.linked} shared.\n"
            f"To go on from there, give the crawl's command with -s JOBDIR={target}"
        )


def _progress(done: int, total: int) -> None:
    share = 100 * done // total if total else 100
    sys.stderr.write(f"\rfrontier {share:3} %" + ("\n" if done >= total else ""))
    sys.stderr.flush()
