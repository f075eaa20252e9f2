"""The check of an archive: every record, every line of the fetch log, the index, and their cross-references.

All files are read once, in bounded memory. Records that must be compared (a record and its line, a revisit and the
record it refers to) are brought together over all files of a crawl: ``CrossChecks`` sorts them by URL and second, on
the disk if there are many. Files that are being written are read up to their current end.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive import fetchlog
from webcrawl.archive.cdxj import INDEX_FOLDER, NOT_MODIFIED, Lines, index_path
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.reading import Damaged, next_whole_member, records
from webcrawl.archive.record_check import (
    ArchiveProblem,
    ArchiveTotals,
    Leftovers,
    Pairs,
    file_problems,
    index_problems,
    record_problems,
)
from webcrawl.archive.records import PROFILES, uri, warc_date
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.archive.warc import OPEN
from webcrawl.external_sort import CHUNK_BYTES, Sorter, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from webcrawl.archive.reading import WarcRecord
    from webcrawl.archive.record_check import Beside


ANSWERS = frozenset({"response", "revisit", "resource"})
SAME_PAYLOAD = f"{PROFILES}identical-payload-digest"

_LINE, _ANSWER, _REVISIT, _TARGET, _MOVED, _MOVED_REVISIT = "LARTMN"
"""Kinds of sorted items: a line of the log; an answer with a payload; a revisit; the target that a revisit refers to;
an answer and a revisit in a file that was moved away, as its index lists them.
"""
_NOT_INDEXED = "not indexed"
_ABOUT = re.compile(rb'"url": "([^"]*)", "mime": "([^"]*)"(?:.*?"digest": "([^"]*)")?')
_NOT_DIGITS = re.compile(r"\D")
_SECOND = 14
"""The number of digits of a time to the second."""


class _SeenItem(NamedTuple):
    """One item about a URL in a given second."""

    at: str
    where: str
    digest: str
    """Digest of the payload, without its label; empty if it is not known."""


class CrossChecks:
    """Collects all lines and records, and reports those without a counterpart.

    It is a context manager: its files are deleted at the end of the block.
    """

    def __init__(self, chunk_bytes: int) -> None:
        self._sorter = Sorter(chunk_bytes)
        self._leftovers = Leftovers()
        self._has_moved = False

    def __enter__(self) -> CrossChecks:
        self._sorter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sorter.__exit__(kind, error, trace)

    def line(self, at: str, url: str, status: object) -> None:
        """Add a line of the fetch log that has a status; ``at`` is a WARC-Date, as everywhere in this class."""
        self._add(at, url, _LINE, _NOT_INDEXED if status == NOT_MODIFIED else "")

    def record(self, path: str, record: WarcRecord) -> None:
        """Add a record of a WARC file."""
        if record.type not in ANSWERS:
            return
        fields, where = record.fields, f"{path} byte {record.start}"
        digest = fields.get("warc-payload-digest", "")
        kind = _REVISIT if record.type == "revisit" else _ANSWER
        self._add(fields.get("warc-date", ""), record.url, kind, where, digest)
        if record.type == "revisit" and (target := fields.get("warc-refers-to-target-uri")):
            same = digest if fields.get("warc-profile") == SAME_PAYLOAD else ""
            self._add(fields.get("warc-refers-to-date", ""), target, _TARGET, where, same)

    def moved(self, index_line: bytes) -> None:
        """Add a line of the index of a WARC file that was moved away."""
        if match := _ABOUT.search(index_line):
            url, mime, digest = (each.decode() if each else "" for each in match.groups())
            at = index_line.split(b" ", 2)[1].decode()
            self._has_moved = True
            self._add(at, url, _MOVED_REVISIT if mime == "warc/revisit" else _MOVED, digest=digest)

    def problems(self, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        """Yield all problems, once everything was added."""
        for key, group in groupby(self._sorter.sorted(), key=lambda line: line.split(b"\t", 1)[0]):
            items: dict[str, list[_SeenItem]] = {}
            for line in group:
                _, kind, *about = line.decode().rstrip("\n").split("\t")
                items.setdefault(kind, []).append(_SeenItem(*about))
            url = key.decode().partition(" ")[2]
            yield from self._unrecorded(url, items)
            yield from _dangling_revisits(url, items)
        yield from self._without_line(totals)

    def _add(self, at: str, url: str, kind: str, where: str = "", digest: str = "") -> None:
        digits = _NOT_DIGITS.sub("", at)
        url = url.replace("\t", " ")
        item = f"{digits[:_SECOND]} {url}\t{kind}\t{digits}\t{where}\t{digest.removeprefix('sha1:')}\n"
        self._sorter.add(item.encode(errors="replace"))

    def _unrecorded(self, url: str, items: dict[str, list[_SeenItem]]) -> Iterator[ArchiveProblem]:
        """Yield lines without an answer; answers without a line are only noted."""
        lines = items.get(_LINE, ())
        if self._has_moved:
            # A 304 may be in a file that was moved away, and no index lists it.
            lines = [
                line for line in lines if line.where != _NOT_INDEXED or _ANSWER in items or _REVISIT in items
            ]
        lined = Counter(line.at for line in lines)
        for answer in (*items.get(_ANSWER, ()), *items.get(_REVISIT, ())):
            path, _, offset = answer.where.rpartition(" byte ")
            if lined[answer.at]:
                lined[answer.at] -= 1
                self._leftovers.has(path, int(offset))
            else:
                self._leftovers.lacks(path, int(offset), url)
        elsewhere = len(items.get(_MOVED, ())) + len(items.get(_MOVED_REVISIT, ()))
        for at in lined.elements():
            if elsewhere:
                elsewhere -= 1
            else:
                yield ArchiveProblem(
                    "fetch log", f"the request of {url} at {at} has no record in the WARC files"
                )

    def _without_line(self, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        for path, offset, url in self._leftovers.lacking():
            yield ArchiveProblem(f"{path} byte {offset}", f"the record of {url} has no line in the fetch log")
        if left := self._leftovers.at_ends:
            totals.remarks.append(
                f"records at the ends of files without a line in the fetch log: {left}, as after a crash"
            )
        if more := self._leftovers.more:
            yield ArchiveProblem("fetch log", f"has no lines for {more} further records")


def _dangling_revisits(url: str, items: dict[str, list[_SeenItem]]) -> Iterator[ArchiveProblem]:
    """Yield revisits that refer to no record, or to a record with another payload."""
    answers = (*items.get(_ANSWER, ()), *items.get(_MOVED, ()))
    revisits = (*items.get(_REVISIT, ()), *items.get(_MOVED_REVISIT, ()))
    for target in items.get(_TARGET, ()):
        if not answers and not revisits:
            yield ArchiveProblem(
                target.where, f"the record refers to a record of {url} that is in none of these files"
            )
        elif target.digest and not answers:
            yield ArchiveProblem(
                target.where, f"the record refers to a record of {url} that is a revisit itself"
            )
        elif target.digest and not any(answer.digest in ("", target.digest) for answer in answers):
            yield ArchiveProblem(target.where, f"the record refers to a record of {url} with another payload")


_WARC = ".warc.gz"


class Check:
    """One check of the archives of a crawl: the JOBDIRs of all its workers together."""

    def __init__(
        self,
        folders: Sequence[Path],
        now: float,
        beside: Sequence[Beside] = (),
        merged_index: Path | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        """``now``: epoch seconds. ``merged_index``: a file that should have the lines of all indexes in ``folders``.
        ``chunk_bytes``: about a third of the memory that sorting takes.
        """
        self._folders = folders
        self._now = now
        self._chunk_bytes = chunk_bytes
        self._beside = beside
        self._merged_index = merged_index
        self.totals = ArchiveTotals()

    def problems(self) -> Iterator[ArchiveProblem]:
        """Yield every problem as it is found. Raises OSError, ArchiveError."""
        for problem in self._problems():
            self.totals.problems += 1
            yield problem

    def _problems(self) -> Iterator[ArchiveProblem]:
        with CrossChecks(self._chunk_bytes) as cross_checks:
            # The logs are read first: a crawl that is running writes the records before the lines.
            for folder in self._folders:
                yield from self._log(folder, cross_checks)
            for folder in self._folders:
                for path in sorted((folder / WARC_FOLDER).glob(f"*{_WARC}*")):
                    if path.name.endswith((_WARC, _WARC + OPEN)):
                        yield from self._warc(folder, path, cross_checks)
                self._add_moved(folder, cross_checks)
            yield from cross_checks.problems(self.totals)
        for each in self._beside:
            yield from each.problems(self.totals)
        if self._merged_index is not None:
            paths = find_indexes(self._folders)
            with merged(paths) as lines:
                yield from index_problems(self._merged_index, lines, self.totals)

    # -- the fetch log ---------------------------------------------------------------------------------------

    def _log(self, folder: Path, cross_checks: CrossChecks) -> Iterator[ArchiveProblem]:
        damage: list[str] = []
        has_warcs = (folder / WARC_FOLDER).is_dir()
        try:
            for line in fetchlog.read(folder, damage.append):
                self.totals.lines += 1
                try:
                    url, start = str(line["url"]), float(line["start"])
                    if ("status" in line) == ("error" in line):
                        raise ValueError
                except (KeyError, TypeError, ValueError):
                    yield ArchiveProblem(str(folder / fetchlog.NAME), f"invalid line: {str(line)[:200]}")
                    continue
                # Notifications of hubs have no records, and WARC_PAGES leaves pages out.
                left_out = line.get("kind") == "websub" or line.get("archived") is False
                if has_warcs and "status" in line and not left_out:
                    cross_checks.line(warc_date(start), uri(url), line["status"])
                for each in self._beside:
                    each.logged(folder, line)
                if damage:
                    yield from file_problems(damage)
        except ArchiveError as error:
            yield ArchiveProblem(str(error.path), error.reason)
        yield from file_problems(damage)

    # -- the files -------------------------------------------------------------------------------------------

    def _warc(self, folder: Path, path: Path, cross_checks: CrossChecks) -> Iterator[ArchiveProblem]:
        self.totals.files += 1
        name, pairs, lines = path.name.removesuffix(OPEN), Pairs(), Lines(path.name.removesuffix(OPEN))
        with Sorter(self._chunk_bytes) as expected, path.open("rb") as stream:
            start = 0
            while True:
                try:
                    for record in records(stream, start, digests=True):
                        if line := lines.of(record):
                            expected.add(line)
                        for at, what in self._record(path, name, record, pairs, cross_checks):
                            yield ArchiveProblem(f"{path} byte {at}", f"the record {what}")
                        self.totals.bytes += record.length
                    break
                except Damaged as damage:
                    further = next_whole_member(stream, damage.at + 1)
                    if further is None and path.name.endswith(OPEN):
                        break  # it is being written, or waits for the repair
                    yield ArchiveProblem(f"{path} byte {damage.at}", damage.why)
                    if further is None:
                        break
                    start = further.start
            if line := lines.last():
                expected.add(line)
            for at, what in pairs.left():
                yield ArchiveProblem(f"{path} byte {at}", f"the record {what}")
            if pairs.ends_alone:
                self.totals.remarks.append(
                    f"{path} ends after a response without its request, as after a crash"
                )
            if path.name.endswith(_WARC) and (folder / INDEX_FOLDER).is_dir():
                index = index_path(folder / INDEX_FOLDER, path.name)
                yield from index_problems(index, expected.sorted(), self.totals)

    def _record(
        self, path: Path, name: str, record: WarcRecord, pairs: Pairs, cross_checks: CrossChecks
    ) -> Iterator[tuple[int, str]]:
        fields = record.fields
        if record.start == 0 and (record.type, fields.get("warc-filename", name)) != ("warcinfo", name):
            yield 0, f"is the first and no warcinfo of {name}"
        self.totals.records[record.type] += 1
        for what in record_problems(record, self._now):
            yield record.start, what
        yield from pairs.problems(record)
        cross_checks.record(str(path), record)

    def _add_moved(self, folder: Path, cross_checks: CrossChecks) -> None:
        """Add the indexes of WARC files that were moved away."""
        for path in sorted((folder / INDEX_FOLDER).glob("*.cdxj")):
            warc = folder / WARC_FOLDER / (path.stem + _WARC)
            if f"{OPEN}-" in path.name or warc.exists():
                continue
            self.totals.remarks.append(f"{warc} does not exist: only its index was checked")
            with path.open("rb") as stream:
                for line in stream:
                    cross_checks.moved(line)


def find_indexes(folders: Sequence[Path]) -> list[Path]:
    """Return all indexes below some JOBDIRs, including those of files that are being written."""
    return [path for folder in folders for path in sorted((folder / INDEX_FOLDER).glob("*.cdxj"))]
