"""The check of link logs: every member and line, their indexes, and a line for each page of the fetch log.

Canonical forms are not computed again, since that needs the settings of the crawl.
"""

from __future__ import annotations

import os
from itertools import groupby
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive import fetchlog
from webcrawl.archive.disk import translated
from webcrawl.archive.record_check import ArchiveProblem, Leftovers
from webcrawl.external_sort import CHUNK_BYTES, Sorter
from webcrawl.links import segments
from webcrawl.links.line import PAGE, parse, split_lines
from webcrawl.links.log import NOT_MODIFIED, ROBOTS, SITEMAP
from webcrawl.urls.fingerprint import digest_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Any

    from webcrawl.archive.record_check import ArchiveTotals
    from webcrawl.links.line import Linking
    from webcrawl.links.segments import Block, Member

_LOGGED, _LINKED = "FL"
"""The kinds of items: a line of a fetch log, and one of a link log."""
_MAY_HAVE = "may"
"""The number of links of a fetch log that does not say whether there is a line in the link log."""


class _PageLine(NamedTuple):
    """A line about a page: the end of its fetch, the file and number of the line, the number of its links, and its
    part of a list (empty for none).
    """

    at: str
    where: str
    number: str
    links: str
    part: str = ""


class LinkLogCheck:
    """Checks the link logs of a crawl against its fetch logs, as ``archive.record_check.Beside``. It is a context
    manager.
    """

    def __init__(self, folders: Sequence[Path], chunk_bytes: int = CHUNK_BYTES) -> None:
        self._times = {folder: times for folder in folders if (times := segments.times(folder))}
        self._numbers = dict.fromkeys(self._times, 0)
        self._sorter = Sorter(chunk_bytes)
        self._unlinked = Leftovers()
        self._unlogged = Leftovers()
        self._first: dict[str, int] = {}  # by fetch log: its first line with a line here

    def __enter__(self) -> LinkLogCheck:
        self._sorter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sorter.__exit__(kind, error, trace)

    def logged(self, folder: Path, line: Mapping[str, Any]) -> None:
        """See ``Beside``. A crawl without a link log has no problems."""
        if folder not in self._times or (kind := line.get("kind")) not in (PAGE, SITEMAP, ROBOTS):
            return
        if line.get("status") in (None, NOT_MODIFIED) or not isinstance(end := line.get("end"), float):
            return
        # A redirect has one link that the fetch log does not count, and a list without a count has no line.
        links = "" if kind == PAGE else _MAY_HAVE
        numbers = line.get("links"), line.get("other_links", 0)
        if all(isinstance(number, int) for number in numbers):
            links = str(sum(numbers))
        self._numbers[folder] += 1
        seen = _PageLine(repr(end), str(folder / fetchlog.NAME), str(self._numbers[folder]), links)
        self._add(str(line["url"]), _LOGGED, seen)

    def problems(self, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        """See ``Beside``."""
        for folder, times in self._times.items():
            for time in times:
                path = segments.segment_path(folder, time)
                with translated(path):
                    yield from self._segment(path, totals)
        for _, group in groupby(self._sorter.sorted(), key=lambda line: line.split(b"\t", 1)[0]):
            yield from self._page(group)
        yield from self._without_counterpart(totals)

    def _add(self, url: str, kind: str, seen: _PageLine) -> None:
        self._sorter.add("\t".join((encode_basestring_ascii(url)[1:-1], kind, *seen)).encode() + b"\n")

    def _segment(self, path: Path, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        is_open, beside = segments.open_name(path).exists(), segments.index_path(path)
        index_bytes = beside.read_bytes() if beside.exists() else b""
        reached, before = 0, totals.links
        with segments.opened(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            blocks = segments.blocks(index_bytes, size)
            trusted = segments.whole(index_bytes, size)
            for member in segments.members(stream, 0, size):
                reached = member.end
                linkings, problems = _parse_member(path, member)
                yield from problems
                for linking in linkings:
                    totals.links += 1
                    seen = _PageLine(
                        repr(linking.at),
                        str(path),
                        str(totals.links - before),
                        str(len(linking.links)),
                        "" if linking.part is None else str(linking.part),
                    )
                    self._add(linking.page, _LINKED, seen)
                block = next(blocks, None)
                if block is not None and (
                    block.behind > trusted
                    or (not problems and not _agrees(block, index_bytes, member, linkings))
                ):
                    yield ArchiveProblem(
                        str(beside), f"does not say what the member at byte {member.start} has"
                    )
        if reached < size and not is_open:
            yield ArchiveProblem(
                f"{path} byte {reached}", "the data is no gzip member; the rest was not looked at"
            )

    def _page(self, group: Iterable[bytes]) -> Iterator[ArchiveProblem]:
        """Check all lines about one URL."""
        logged, linked = list[_PageLine](), dict[str, _PageLine]()
        parts: dict[str, dict[str, int]] = {}
        url = ""
        for line in group:
            url, kind, *about = line.decode().rstrip("\n").split("\t")
            seen = _PageLine(*about)
            if kind == _LOGGED:
                logged.append(seen)
            else:
                linked[seen.at] = seen
                # A line may be there twice.
                parts.setdefault(seen.at, {})[seen.part] = int(seen.links)
        last = max((float(at) for at in linked), default=0.0)
        for each in logged:
            number = int(each.number)
            if (other := linked.get(each.at)) is not None:
                self._unlinked.has(each.where, number)
                self._unlogged.has(other.where, int(other.number))
                self._first[each.where] = min(self._first.get(each.where, number), number)
                linked_links = str(sum(parts[each.at].values()))
                if each.links not in ("", _MAY_HAVE, linked_links):
                    yield ArchiveProblem(
                        other.where, f"has {linked_links} links of {url}, the fetch log has {each.links}"
                    )
            elif (
                each.links != _MAY_HAVE and float(each.at) > last
            ):  # a page that a crash has lost was fetched again
                self._unlinked.lacks(each.where, number, url)
        for at in linked.keys() - {each.at for each in logged}:
            self._unlogged.lacks(linked[at].where, int(linked[at].number), url)

    def _without_counterpart(self, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        early = 0
        for where, number, url in self._unlinked.lacking():
            if number < self._first.get(where, 0):
                early += 1
            else:
                yield ArchiveProblem(where, f"the page {url} has no line in the link log")
        for where, _, url in self._unlogged.lacking():
            yield ArchiveProblem(where, f"the line of {url} has none in the fetch log")
        if early:
            totals.remarks.append(f"pages that were fetched before the link log begins: {early}")
        if left := self._unlinked.at_ends + self._unlogged.at_ends:
            totals.remarks.append(
                f"lines at the ends of fetch logs and link logs without their counterpart: {left}, "
                "as after a crash"
            )
        if more := self._unlinked.more + self._unlogged.more:
            yield ArchiveProblem("link log", f"lacks the counterpart of {more} further lines")


def _parse_member(path: Path, member: Member) -> tuple[list[Linking], list[ArchiveProblem]]:
    """Return the lines of a member, and its problems."""
    linkings, problems = [], []
    where = f"{path} byte {member.start}"
    for line in split_lines(member.data):
        try:
            linkings.append(parse(line))
        except ValueError as error:
            problems.append(ArchiveProblem(where, f"in the member there: {error}"))
    if not member.data.endswith(b"\n"):
        problems.append(ArchiveProblem(where, "the member ends within a line"))
    return linkings, problems


def _agrees(block: Block, index_bytes: bytes, member: Member, linkings: list[Linking]) -> bool:
    """Return True if a block of an index has the pages and the targets of its member."""
    forms = {link.canonical for linking in linkings for link in linking.links}
    targets = digest_all([form.encode("utf-8", "surrogatepass") for form in forms])
    return (
        (block.start, block.end) == (member.start, member.end)
        and list(block.marks(index_bytes)) == [linking.mark for linking in linkings]
        and list(block.times(index_bytes)) == [linking.at for linking in linkings]
        and set(block.target_marks(index_bytes)) == {mark & segments.LOWER for mark in targets}
    )
