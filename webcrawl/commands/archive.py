"""``scrapy archive check|index [JOBDIR...]``: check the archive of a crawl, and build its index.

Exit status 0: done, no faults. 1: ``check`` found faults. 2: an argument is wrong, or a file cannot be read or
written; a line on standard error says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.command import ProjectCommand
from webcrawl.config.vocabulary import nearest
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import Problem
from webcrawl.terminal import complain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence


VERBS = ("check", "index")


class Command(ProjectCommand):
    expected = (ArchiveError, OSError)
    json_help = "check: one JSON object a line"

    def syntax(self) -> str:
        return "<check|index> [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Verify the WARC files, logs and index of a crawl, or rebuild the index"

    def long_desc(self) -> str:
        return (
            "check: verifies the digests, length and date of every record, that requests and responses belong "
            "together, the targets of revisit records, the lines of the fetch log for the records and the "
            "reverse, the index and the link log. Give the JOBDIRs of all workers together. index: writes the "
            "CDXJ index of each closed WARC file that has none, or of all files with --again; -o FILE merges "
            "all indexes into one. Without JOBDIR, that of the settings is used."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--again", action="store_true", help="index: rebuild existing indexes too")
        parser.add_argument(
            "-o",
            metavar="FILE",
            dest="merged",
            help="index: merge all indexes into this file; check: check this file too",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if not args:
            return iter([Problem("", "no command; give check or index")])
        return _wrong_words(args[0], opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.archive.command import check, make_indexes

        verb, *folders_named = args
        jobdir = self.configuration.jobdir
        folders = folders_with_files(map(Path, folders_named or ([str(jobdir)] if jobdir else [])))
        if problems := list(_problems(folders)):
            return complain(self.name, problems)
        target = opts.merged and Path(opts.merged)
        if verb != "check":
            return make_indexes(folders, opts.again, target)
        return check(folders, target, as_json=opts.json)


def _wrong_words(verb: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if verb not in VERBS:
        meant = nearest(verb, VERBS)
        hint = f"; did you mean {meant}?" if meant else ""
        yield Problem(verb, f"is no subcommand of archive: {' or '.join(VERBS)}{hint}")
        return
    if opts.json and verb != "check":
        yield Problem("--json", "goes with check")
    if opts.again and verb != "index":
        yield Problem("--again", "goes with index")


def _problems(folders: Sequence[Path]) -> Iterator[Problem]:
    if not folders:
        yield Problem("", "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
    for folder in folders:
        if not folder.is_dir():
            yield Problem(str(folder), "is no folder")
        elif not (folder / WARC_FOLDER).is_dir():
            yield Problem(str(folder), f"holds no archive: it has no folder {WARC_FOLDER}")
