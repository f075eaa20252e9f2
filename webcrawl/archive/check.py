"""Whether an archive is whole: every record, every line of the fetch log, the index, and what belongs together.

All is read once, in bounded memory. What must be held against each other (a record and its line, a revisit and what
it refers to) is sorted on the disk and met there. Files that are being written are read as far as they go.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive import fetchlog
from webcrawl.archive.errors import ArchiveError
from webcrawl.archive.index import INDEX_FOLDER, Lines, index_path
from webcrawl.archive.judging import Pairs, faults_of
from webcrawl.archive.members import next_whole_member
from webcrawl.archive.reading import Damaged, records
from webcrawl.archive.records import uri, warc_date
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.archive.sortedlines import CHUNK_BYTES, Sorter
from webcrawl.archive.warc import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.reading import Record

ANSWERS = frozenset({"response", "revisit", "resource"})
KEPT_IN_MIND = 10_000
"""Records without a line of which the places are remembered until it is known whether a crash left them."""

_WARC = ".warc.gz"
_ABOUT = re.compile(rb'"url": "([^"]*)"')
_NOT_DIGITS = re.compile(r"\D")
_SECOND = 14
"""Digits of a time to the second."""


class Fault(NamedTuple):
    """What is wrong, and where."""

    where: str
    what: str


@dataclass(slots=True)
class Totals:
    """What was looked at."""

    files: int = 0
    bytes: int = 0
    records: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    """Of the fetch logs."""
    indexed: int = 0
    """Lines of the indexes."""
    faults: int = 0
    remarks: list[str] = field(default_factory=list)
    """What is as it may be, and worth knowing."""


class Check:
    """One look at the archives of a crawl: the JOBDIRs of all its workers together."""

    def __init__(self, folders: Sequence[Path], now: float, chunk_bytes: int = CHUNK_BYTES) -> None:
        """``now``: epoch seconds. ``chunk_bytes``: about a third of the memory that sorting takes."""
        self._folders = folders
        self._now = now
        self._chunk_bytes = chunk_bytes
        self.totals = Totals()
        self._last_lined: dict[str, int] = {}  # by file: the last of its answers that has a line
        self._unlined: list[tuple[str, int, str]] = []
        self._unlined_more = 0

    def faults(self) -> Iterator[Fault]:
        """Everything that is wrong, as it is found. Raises OSError, ArchiveError."""
        for fault in self._faults():
            self.totals.faults += 1
            yield fault

    def _faults(self) -> Iterator[Fault]:
        with Sorter(self._chunk_bytes) as met:
            # The logs first: what is added to a crawl that runs has its records before its lines.
            for folder in self._folders:
                yield from self._log(folder, met)
            for folder in self._folders:
                for path in sorted((folder / WARC_FOLDER).glob(f"*{_WARC}*")):
                    if path.name.endswith((_WARC, _WARC + OPEN)):
                        yield from self._warc(folder, path, met)
                self._absent(folder, met)
            yield from self._meetings(met.sorted())
        yield from self._without_line()

    # -- the fetch log ---------------------------------------------------------------------------------------

    def _log(self, folder: Path, met: Sorter) -> Iterator[Fault]:
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
                    yield Fault(
                        str(folder / fetchlog.NAME), f"a line is not as it must be: {str(line)[:200]}"
                    )
                    continue
                if has_warcs and "status" in line:
                    met.add(_meeting(warc_date(start), uri(url), "L", ""))
                if damage:
                    yield from _told(damage)
        except ArchiveError as error:
            yield Fault(str(error.path), error.reason)
        yield from _told(damage)

    # -- the files -------------------------------------------------------------------------------------------

    def _warc(self, folder: Path, path: Path, met: Sorter) -> Iterator[Fault]:
        self.totals.files += 1
        name, pairs, lines = path.name.removesuffix(OPEN), Pairs(), Lines(path.name.removesuffix(OPEN))
        with Sorter(self._chunk_bytes) as expected, path.open("rb") as stream:
            start = 0
            while True:
                try:
                    for record in records(stream, start, digests=True):
                        if line := lines.of(record):
                            expected.add(line)
                        for at, what in self._record(path, name, record, pairs, met):
                            yield Fault(f"{path} byte {at}", f"the record {what}")
                        self.totals.bytes += record.length
                    break
                except Damaged as damage:
                    further = next_whole_member(stream, damage.at + 1)
                    if further is None and path.name.endswith(OPEN):
                        break  # it is being written, or waits for the repair
                    yield Fault(f"{path} byte {damage.at}", damage.why)
                    if further is None:
                        break
                    start = further.start
            if line := lines.last():
                expected.add(line)
            for at, what in pairs.left():
                yield Fault(f"{path} byte {at}", f"the record {what}")
            if pairs.ends_alone:
                self.totals.remarks.append(
                    f"{path} ends behind an answer without its request, as a crash leaves it"
                )
            if path.name.endswith(_WARC) and (folder / INDEX_FOLDER).is_dir():
                yield from self._index(index_path(folder / INDEX_FOLDER, path.name), expected.sorted())

    def _record(
        self, path: Path, name: str, record: Record, pairs: Pairs, met: Sorter
    ) -> Iterator[tuple[int, str]]:
        fields = record.fields
        if record.start == 0 and (record.type, fields.get("warc-filename", name)) != ("warcinfo", name):
            yield 0, f"is the first and no warcinfo of {name}"
        self.totals.records[record.type] += 1
        for what in faults_of(record, self._now):
            yield record.start, what
        yield from pairs.faults(record)
        if record.type in ANSWERS:
            met.add(_meeting(fields.get("warc-date", ""), record.url, "A", f"{path} byte {record.start}"))
        if record.type == "revisit" and (target := fields.get("warc-refers-to-target-uri")):
            at = fields.get("warc-refers-to-date", "")
            met.add(_meeting(at, target, "T", f"{path} byte {record.start}"))

    def _index(self, path: Path, expected: Iterator[bytes]) -> Iterator[Fault]:
        if not path.exists():
            yield Fault(str(path), "is not there; scrapy archive index makes it again")
            return
        before = b""
        due = next(expected, None)
        with path.open("rb") as stream:
            for line in stream:
                self.totals.indexed += 1
                if line < before:
                    yield Fault(str(path), f"is not sorted: {_shown(line)}")
                    return
                before = line
                while due is not None and due < line:
                    yield Fault(str(path), f"lacks the line {_shown(due)}")
                    due = next(expected, None)
                if line == due:
                    due = next(expected, None)
                else:
                    yield Fault(str(path), f"has a line that no record has: {_shown(line)}")
        while due is not None:
            yield Fault(str(path), f"lacks the line {_shown(due)}")
            due = next(expected, None)

    def _absent(self, folder: Path, met: Sorter) -> None:
        """What the indexes of WARC files say that were moved away."""
        for path in sorted((folder / INDEX_FOLDER).glob("*.cdxj")):
            warc = folder / WARC_FOLDER / (path.stem + _WARC)
            if f"{OPEN}-" in path.name or warc.exists():
                continue
            self.totals.remarks.append(f"{warc} is not there: only its index was looked at")
            with path.open("rb") as stream:
                for line in stream:
                    at = line.split(b" ", 2)[1]
                    if found := _ABOUT.search(line):
                        met.add(_meeting(at.decode(), found[1].decode(), "M", ""))

    # -- what belongs together -------------------------------------------------------------------------------

    def _meetings(self, lines: Iterable[bytes]) -> Iterator[Fault]:
        for key, group in groupby(lines, key=lambda line: line.split(b"\t", 1)[0]):
            found: dict[str, list[tuple[str, str]]] = {"A": [], "L": [], "M": [], "T": []}
            for line in group:
                _, kind, at, where = line.decode().rstrip("\n").split("\t")
                found[kind].append((at, where))
            yield from self._met(key.decode().partition(" ")[2], found)

    def _met(self, url: str, found: dict[str, list[tuple[str, str]]]) -> Iterator[Fault]:
        """One URL in one second: its answers, its lines, and the revisits that refer to it."""
        lined = Counter(at for at, _ in found["L"])
        for at, where in found["A"]:
            path, _, offset = where.rpartition(" byte ")
            if lined[at]:
                lined[at] -= 1
                self._last_lined[path] = max(self._last_lined.get(path, 0), int(offset))
            elif len(self._unlined) < KEPT_IN_MIND:
                self._unlined.append((path, int(offset), url))
            else:
                self._unlined_more += 1
        elsewhere = len(found["M"])
        for at in lined.elements():
            if elsewhere:
                elsewhere -= 1
            else:
                yield Fault("fetch log", f"the request of {url} at {at} has no record in the WARC files")
        if not found["A"] and not found["M"]:
            for _, where in found["T"]:
                yield Fault(where, f"the record refers to one of {url} that is in none of these files")

    def _without_line(self) -> Iterator[Fault]:
        left = 0
        for path, offset, url in self._unlined:
            if offset > self._last_lined.get(path, -1):
                left += 1
            else:
                yield Fault(f"{path} byte {offset}", f"the record of {url} has no line in the fetch log")
        if left:
            self.totals.remarks.append(
                f"records at the ends of files without a line in the fetch log: {left}, as a crash leaves them"
            )
        if self._unlined_more:
            yield Fault("fetch log", f"has no lines for {self._unlined_more} further records")


def _meeting(at: str, url: str, kind: str, where: str) -> bytes:
    """A line by which what concerns one URL in one second is found together."""
    digits = _NOT_DIGITS.sub("", at)
    return f"{digits[:_SECOND]} {url}\t{kind}\t{digits}\t{where}\n".encode(errors="replace")


def _told(sentences: list[str]) -> Iterator[Fault]:
    for sentence in sentences:
        where, _, what = sentence.partition(": ")
        yield Fault(where, what)
    sentences.clear()


def _shown(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\n")[:300]
