"""``scrapy archive check|index [JOBDIR...]``: check the archive of a crawl, and build its index.

Exit status 0: done, no faults. 1: ``check`` found faults. 2: an argument is wrong, or a file cannot be read or
written; a line on standard error says why.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.archive.cdxj import INDEX_FOLDER, build, index_path, write_lines
from webcrawl.archive.check import Check, indexes_of
from webcrawl.archive.disk import ArchiveError, Disk
from webcrawl.archive.reading import Damaged
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.command import ProjectCommand
from webcrawl.commands.output import complain, tell
from webcrawl.config.vocabulary import nearest
from webcrawl.errors import Problem
from webcrawl.external_sort import merged
from webcrawl.links.check import LinkLogCheck
from webcrawl.reports import text as units

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from webcrawl.archive.record_check import Totals

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
            raise UsageError
        return _wrong_words(args[0], opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        verb, *given = args
        jobdir = self.configuration.jobdir
        folders = list(dict.fromkeys(map(Path, given or ([str(jobdir)] if jobdir else []))))
        if problems := list(_problems(folders)):
            return complain(self.name, problems)
        target = opts.merged and Path(opts.merged)
        if verb != "check":
            return make_indexes(folders, opts.again, target)
        with LinkLogCheck(folders) as links:
            return carry_out(Check(folders, time.time(), [links], target), as_json=opts.json)


def carry_out(check: Check, *, as_json: bool) -> int:
    """Print every problem when it is found, and the totals. Return the exit status."""
    for problem in check.problems():
        tell(
            json.dumps(problem._asdict())
            if as_json
            else f"{_printable(problem.where)}: {_printable(problem.what)}"
        )
    totals = check.totals
    if as_json:
        figures = {name: getattr(totals, name) for name in totals.__slots__}
        tell(json.dumps({"faults" if name == "problems" else name: value for name, value in figures.items()}))
    else:
        tell("\n".join(_summary(totals)))
    return 1 if totals.problems else 0


def make_indexes(folders: Sequence[Path], again: bool, target: Path | None) -> int:
    """Build missing indexes, and merge all. Return the exit status."""
    failed: list[str] = []
    for folder in folders:
        indexes = folder / INDEX_FOLDER
        indexes.mkdir(exist_ok=True)
        for warc in sorted((folder / WARC_FOLDER).glob("*.warc.gz")):
            path = index_path(indexes, warc.name)
            if again or not path.exists():
                try:
                    number = build(warc, path, Disk())
                    tell(f"{path}: {units.things(number, 'line')}")
                except Damaged as damage:
                    failed.append(f"{warc} has no index: {damage}; see scrapy archive check")
    if target is not None:
        paths = indexes_of(folders)
        with merged(paths) as lines:
            write_lines(target, lines, Disk(), durable=True)
        tell(f"{target}: {units.things(len(paths), 'file')} of indexes merged")
    return complain("archive", failed) if failed else 0


def _summary(totals: Totals) -> Iterator[str]:
    kinds = ", ".join(f"{units.count(number)} {kind}" for kind, number in sorted(totals.records.items()))
    yield (
        f"{units.things(totals.files, 'WARC file')}, {units.count(totals.bytes)} bytes: "
        f"{units.things(totals.records.total(), 'record')}{f' ({kinds})' if kinds else ''}"
    )
    yield (
        f"{units.things(totals.lines, 'line')} of the fetch log, {units.count(totals.indexed)} of the index, "
        f"{units.count(totals.links)} of the link log"
    )
    for remark in totals.remarks:
        yield f"  {_printable(remark)}"
    yield f"{units.things(totals.problems, 'fault')}" if totals.problems else "Nothing is wrong."


def _printable(text: str) -> str:
    """Return the text without characters that control the terminal; it comes from other sites."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


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
