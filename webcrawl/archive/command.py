"""Carries out ``scrapy archive``: checks an archive or builds its index, and prints the result."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive.cdxj import INDEX_FOLDER, build, index_path, write_lines
from webcrawl.archive.check import Check, find_indexes
from webcrawl.archive.disk import Disk
from webcrawl.archive.reading import Damaged
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.external_sort import merged
from webcrawl.links.check import LinkLogCheck
from webcrawl.reports import text as units
from webcrawl.terminal import complain, tell
from webcrawl.urls.lists import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.archive.record_check import ArchiveTotals


def check(folders: Sequence[Path], merged_index: Path | None, *, as_json: bool) -> int:
    """Check an archive, also its merged index if there is one. Return the exit status."""
    with LinkLogCheck(folders) as links:
        return carry_out(Check(folders, time.time(), [links], merged_index), as_json=as_json)


def carry_out(check: Check, *, as_json: bool) -> int:
    """Print every problem when it is found, and the totals. Return the exit status."""
    for problem in check.problems():
        tell(
            json.dumps(problem._asdict()) if as_json else f"{escaped(problem.where)}: {escaped(problem.what)}"
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
        paths = find_indexes(folders)
        with merged(paths) as lines:
            write_lines(target, lines, Disk(), durable=True)
        tell(f"{target}: {units.things(len(paths), 'file')} of indexes merged")
    return complain("archive", failed) if failed else 0


def _summary(totals: ArchiveTotals) -> Iterator[str]:
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
        yield f"  {escaped(remark)}"
    yield f"{units.things(totals.problems, 'fault')}" if totals.problems else "Nothing is wrong."
