"""The reader of the link logs of all workers of a crawl, also while they are being written.

Memory is that of a member, plus eight bytes for each page to detect pages that were fetched again.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.disk import ArchiveError, translated
from webcrawl.links import line, segments
from webcrawl.links import segments as index
from webcrawl.links.line import needle, parse, split_lines
from webcrawl.links.segments import Member
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from webcrawl.links.line import Linking, LoggedLink
    from webcrawl.links.segments import Block

AT_A_TIME = 1_000_000
"""The number of pages among which repeated ones are searched at once: some 100 MB."""


class LineLocation(NamedTuple):
    """The location of a line: its segment's number and its member's start. Later lines have greater ones."""

    segment: int
    start: int


class Segment(NamedTuple):
    """A segment, read up to the size that it had when it was found, so that all passes see the same content."""

    number: int
    path: Path
    size: int


class LinkLogs:
    """The link logs below some JOBDIRs as they were when this object was created.

    All methods raise ArchiveError for a file that cannot be read. A page that was fetched more than once has a line
    for each time; only the last one counts, and the others are skipped. A long list of URLs has several lines for one
    fetch, its parts, which ``of`` alone joins.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        segments_by_time = [(int(time), time, path) for path in directories for time in segments.times(path)]
        paths = [
            segments.segment_path(path, time)
            for _, time, path in sorted(segments_by_time, key=lambda segment: segment[0])
        ]
        self._segments = [Segment(number, path, _size(path)) for number, path in enumerate(paths)]
        self._superseded: dict[int, tuple[float, LineLocation]] | None = None

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self._segments)

    def pages(self) -> Iterator[Linking]:
        """Yield every page with its links, and every list, a part at a time."""
        yielded: set[tuple[int, int]] = set()
        for segment in self._segments:
            for member in _every_member(segment):
                location = LineLocation(segment.number, member.start)
                for each in self._parsed(segment.path, member, split_lines(member.data)):
                    if self._is_last(each, location, yielded):
                        yield each

    def lines(self) -> Iterator[Linking]:
        """Yield every line, including those of pages that were fetched again later."""
        for segment in self._segments:
            for member in _every_member(segment):
                yield from self._parsed(segment.path, member, split_lines(member.data))

    def of(self, canonical_url: str) -> Linking | None:
        """Return the page with this canonical form, as of its last fetch; None if it was never fetched."""
        sought = index.page_bytes(fingerprint(canonical_url))
        linking: Linking | None = None
        parts: dict[int | None, Linking] = {}
        for _, each in self._holding(canonical_url, sought, lambda block, data: block.has_page(data, sought)):
            if each.canonical == canonical_url and (linking is None or each.at >= linking.at):
                if linking is not None and (each.at > linking.at or each.part is None):
                    parts.clear()
                linking = parts[each.part] = each
        if linking is None or linking.part is None:
            return linking
        together = [link for _, part in sorted(_numbered(parts)) for link in part.links]
        return linking._replace(links=together, part=None)

    def into(self, canonical_url: str) -> Iterator[tuple[Linking, LoggedLink]]:
        """Yield every link to this canonical form, with the page that has it."""
        sought = index.target_bytes(fingerprint(canonical_url))
        linkings = self._holding(canonical_url, sought, lambda block, data: block.has_target(data, sought))
        yielded: set[tuple[int, int]] = set()
        for location, each in linkings:
            links = [link for link in each.links if link.canonical == canonical_url]
            if links and self._is_last(each, location, yielded):
                yield from ((each, link) for link in links)

    def naming(self, canonical_url: str, goes_on: Callable[[], bool]) -> Iterator[tuple[Linking, LoggedLink]]:
        """Yield every link to this canonical form in any line, including those of pages that were fetched again
        later.

        ``goes_on`` is called at each member, and stops the search by returning False.
        """
        sought = index.target_bytes(fingerprint(canonical_url))

        def has(block: Block, data: bytes) -> bool:
            return block.has_target(data, sought)

        for _, each in self._holding(canonical_url, sought, has, goes_on):
            yield from ((each, link) for link in each.links if link.canonical == canonical_url)

    def _holding(
        self,
        canonical_url: str,
        sought: bytes,
        has: Callable[[Block, bytes], bool],
        goes_on: Callable[[], bool] = lambda: True,
    ) -> Iterator[tuple[LineLocation, Linking]]:
        """Yield the lines with this canonical form, from the members that an index names or does not cover."""
        text = needle(canonical_url)
        for segment in self._segments:
            for member in _likely_members(segment, sought, has, goes_on):
                if text in member.data:
                    lines = (each_line for each_line in split_lines(member.data) if text in each_line)
                    for each in self._parsed(segment.path, member, lines):
                        yield LineLocation(segment.number, member.start), each

    def _parsed(self, path: Path, member: Member, lines: Iterator[bytes]) -> Iterator[Linking]:
        for each_line in lines:
            try:
                yield parse(each_line)
            except ValueError as error:
                raise ArchiveError(path, f"the member at byte {member.start}: {error}") from error

    def _is_last(self, linking: Linking, location: LineLocation, yielded: set[tuple[int, int]]) -> bool:
        """``yielded``: the parts that were yielded before, since a part may be there twice like any line."""
        if self._superseded is None:
            self._superseded = _latest(self._heads)
        last = self._superseded.get(linking.mark)
        if last is None or linking.part is None:
            return last is None or last == (linking.at, location)
        which = linking.mark, linking.part
        if last[0] != linking.at or which in yielded:
            return False
        yielded.add(which)
        return True

    def _heads(self) -> Iterator[tuple[LineLocation, array[int], array[float]]]:
        """Yield the fingerprints of the pages of each member, and when they were fetched."""
        for segment in self._segments:
            yield from _read_heads(segment)


def _numbered(parts: dict[int | None, Linking]) -> Iterator[tuple[int, Linking]]:
    return ((number, part) for number, part in parts.items() if number is not None)


def _latest(
    heads: Callable[[], Iterator[tuple[LineLocation, array[int], array[float]]]],
) -> dict[int, tuple[float, LineLocation]]:
    """Return the last line of each page that has more than one."""
    marks = array("q")
    for _, some, _ in heads():
        marks.extend(some)
    parts = 1 + len(marks) // AT_A_TIME
    latest: dict[int, tuple[float, LineLocation]] = {}
    for part in range(parts):
        counted = Counter(marks if parts == 1 else (mark for mark in marks if mark % parts == part))
        latest |= {mark: (float("-inf"), LineLocation(0, 0)) for mark, times in counted.items() if times > 1}
    if latest:
        for location, some, times in heads():
            for mark, at in zip(some, times, strict=True):
                if mark in latest:
                    latest[mark] = max(latest[mark], (at, location))
    return latest


def _size(path: Path) -> int:
    with translated(path), segments.opened(path) as stream:
        return stream.seek(0, os.SEEK_END)


def _index(path: Path) -> bytes:
    """Return the index of a segment, as far as it exists."""
    try:
        return segments.index_path(path).read_bytes()
    except FileNotFoundError:
        return b""


def _every_member(segment: Segment) -> Iterator[Member]:
    with translated(segment.path), segments.opened(segment.path) as stream:
        covered = 0
        for block in index.blocks(_index(segment.path), segment.size):
            yield _at(segment, stream, block)
            covered = block.end
        yield from segments.members(stream, covered, segment.size)


def _likely_members(
    segment: Segment, sought: bytes, has: Callable[[Block, bytes], bool], goes_on: Callable[[], bool]
) -> Iterator[Member]:
    if not goes_on():
        return
    with translated(segment.path), segments.opened(segment.path) as stream:
        data, covered = _index(segment.path), 0
        for block in index.blocks(data, segment.size):
            if not goes_on():
                return
            covered = block.end
            if has(block, data):
                yield _at(segment, stream, block)
        for member in segments.members(stream, covered, segment.size):
            yield member
            if not goes_on():
                return


def _read_heads(segment: Segment) -> Iterator[tuple[LineLocation, array[int], array[float]]]:
    with translated(segment.path), segments.opened(segment.path) as stream:
        data, covered = _index(segment.path), 0
        for block in index.blocks(data, segment.size):
            yield LineLocation(segment.number, block.start), block.marks(data), block.times(data)
            covered = block.end
        for member in segments.members(stream, covered, segment.size):
            location = LineLocation(segment.number, member.start)
            try:
                read = [line.head(head) for head in split_lines(member.data)]
            except ValueError as error:
                raise ArchiveError(segment.path, f"the member at byte {member.start}: {error}") from error
            yield location, array("q", [head.mark for head in read]), array("d", [head.at for head in read])


def _at(segment: Segment, stream: BinaryIO, block: Block) -> Member:
    try:
        return segments.member(stream, block.start, block.end)
    except ValueError as error:
        raise ArchiveError(segment.path, f"the member at byte {block.start} is damaged: {error}") from error
