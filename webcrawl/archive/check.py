"""Whether an archive is whole: every record, every line of the fetch log, the index, and what belongs together.

All is read once, in bounded memory. What must be held against each other (a record and its line, a revisit and what
it refers to) is sorted on the disk and met there (``meetings``). Files that are being written are read as far as they
go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.archive.errors import ArchiveError
from webcrawl.archive.faults import Fault, Totals, told
from webcrawl.archive.index import INDEX_FOLDER, Lines, index_path
from webcrawl.archive.index_judging import index_faults
from webcrawl.archive.judging import Pairs, faults_of
from webcrawl.archive.meetings import Meetings
from webcrawl.archive.members import next_whole_member
from webcrawl.archive.reading import Damaged, records
from webcrawl.archive.records import uri, warc_date
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.archive.sortedlines import CHUNK_BYTES, Sorter, merged
from webcrawl.archive.warc import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.faults import Beside
    from webcrawl.archive.reading import Record

_WARC = ".warc.gz"


class Check:
    """One look at the archives of a crawl: the JOBDIRs of all its workers together."""

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
        self.totals = Totals()

    def faults(self) -> Iterator[Fault]:
        """Everything that is wrong, as it is found. Raises OSError, ArchiveError."""
        for fault in self._faults():
            self.totals.faults += 1
            yield fault

    def _faults(self) -> Iterator[Fault]:
        with Meetings(self._chunk_bytes) as met:
            # The logs first: what is added to a crawl that runs has its records before its lines.
            for folder in self._folders:
                yield from self._log(folder, met)
            for folder in self._folders:
                for path in sorted((folder / WARC_FOLDER).glob(f"*{_WARC}*")):
                    if path.name.endswith((_WARC, _WARC + OPEN)):
                        yield from self._warc(folder, path, met)
                self._absent(folder, met)
            yield from met.faults(self.totals)
        for each in self._beside:
            yield from each.faults(self.totals)
        if self._merged_index is not None:
            paths = indexes_of(self._folders)
            with merged(paths) as lines:
                yield from index_faults(self._merged_index, lines, self.totals)

    # -- the fetch log ---------------------------------------------------------------------------------------

    def _log(self, folder: Path, met: Meetings) -> Iterator[Fault]:
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
                # Only the hub may know what it was told; and WARC_PAGES leaves pages out.
                left_out = line.get("kind") == "websub" or line.get("archived") is False
                if has_warcs and "status" in line and not left_out:
                    met.line(warc_date(start), uri(url), line["status"])
                for each in self._beside:
                    each.logged(folder, line)
                if damage:
                    yield from told(damage)
        except ArchiveError as error:
            yield Fault(str(error.path), error.reason)
        yield from told(damage)

    # -- the files -------------------------------------------------------------------------------------------

    def _warc(self, folder: Path, path: Path, met: Meetings) -> Iterator[Fault]:
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
                index = index_path(folder / INDEX_FOLDER, path.name)
                yield from index_faults(index, expected.sorted(), self.totals)

    def _record(
        self, path: Path, name: str, record: Record, pairs: Pairs, met: Meetings
    ) -> Iterator[tuple[int, str]]:
        fields = record.fields
        if record.start == 0 and (record.type, fields.get("warc-filename", name)) != ("warcinfo", name):
            yield 0, f"is the first and no warcinfo of {name}"
        self.totals.records[record.type] += 1
        for what in faults_of(record, self._now):
            yield record.start, what
        yield from pairs.faults(record)
        met.record(str(path), record)

    def _absent(self, folder: Path, met: Meetings) -> None:
        """What the indexes of WARC files say that were moved away."""
        for path in sorted((folder / INDEX_FOLDER).glob("*.cdxj")):
            warc = folder / WARC_FOLDER / (path.stem + _WARC)
            if f"{OPEN}-" in path.name or warc.exists():
                continue
            self.totals.remarks.append(f"{warc} is not there: only its index was looked at")
            with path.open("rb") as stream:
                for line in stream:
                    met.moved(line)


def indexes_of(folders: Sequence[Path]) -> list[Path]:
    """All indexes below some JOBDIRs, those of files that are being written too."""
    return [path for folder in folders for path in sorted((folder / INDEX_FOLDER).glob("*.cdxj"))]
