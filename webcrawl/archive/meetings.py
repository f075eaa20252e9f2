"""What belongs together over all files of a crawl: lines of the log and records, revisits and what they refer to.

All that concerns one URL in one second is brought together by sorting, on the disk where memory would not do.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.cdxj import NOT_MODIFIED
from webcrawl.archive.faults import Fault, Leftovers
from webcrawl.archive.records import PROFILES
from webcrawl.archive.sortedlines import Sorter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from webcrawl.archive.faults import Totals
    from webcrawl.archive.reading import Record

ANSWERS = frozenset({"response", "revisit", "resource"})
SAME_PAYLOAD = f"{PROFILES}identical-payload-digest"

_LINE, _ANSWER, _REVISIT, _TARGET, _MOVED, _MOVED_REVISIT = "LARTMN"
"""A line of the log; an answer with a payload, one that is a revisit; what a revisit refers to; an answer and a
revisit in a file that is not here, as its index has them.
"""
_NOT_INDEXED = "not indexed"
_ABOUT = re.compile(rb'"url": "([^"]*)", "mime": "([^"]*)"(?:.*?"digest": "([^"]*)")?')
_NOT_DIGITS = re.compile(r"\D")
_SECOND = 14
"""Digits of a time to the second."""


class _Seen(NamedTuple):
    """One thing about a URL in a second."""

    at: str
    where: str
    digest: str
    """Of its payload, without its label; empty where it is not known."""


class Meetings:
    """Is told of all lines and records, and says what lacks its counterpart. A context: its files end with it."""

    def __init__(self, chunk_bytes: int) -> None:
        self._sorter = Sorter(chunk_bytes)
        self._leftovers = Leftovers()
        self._has_moved = False

    def __enter__(self) -> Meetings:
        self._sorter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sorter.__exit__(kind, error, trace)

    def line(self, at: str, url: str, status: object) -> None:
        """A line of the fetch log that has a status; ``at`` is a WARC-Date, as all of them here."""
        self._add(at, url, _LINE, _NOT_INDEXED if status == NOT_MODIFIED else "")

    def record(self, path: str, record: Record) -> None:
        """A record of a file."""
        if record.type not in ANSWERS:
            return
        fields, where = record.fields, f"{path} byte {record.start}"
        said = fields.get("warc-payload-digest", "")
        kind = _REVISIT if record.type == "revisit" else _ANSWER
        self._add(fields.get("warc-date", ""), record.url, kind, where, said)
        if record.type == "revisit" and (target := fields.get("warc-refers-to-target-uri")):
            same = said if fields.get("warc-profile") == SAME_PAYLOAD else ""
            self._add(fields.get("warc-refers-to-date", ""), target, _TARGET, where, same)

    def moved(self, index_line: bytes) -> None:
        """A line of the index of a file that is not here."""
        if found := _ABOUT.search(index_line):
            url, mime, said = (each.decode() if each else "" for each in found.groups())
            at = index_line.split(b" ", 2)[1].decode()
            self._has_moved = True
            self._add(at, url, _MOVED_REVISIT if mime == "warc/revisit" else _MOVED, digest=said)

    def faults(self, totals: Totals) -> Iterator[Fault]:
        """What is wrong, once all is told."""
        for key, group in groupby(self._sorter.sorted(), key=lambda line: line.split(b"\t", 1)[0]):
            found: dict[str, list[_Seen]] = {}
            for line in group:
                _, kind, *about = line.decode().rstrip("\n").split("\t")
                found.setdefault(kind, []).append(_Seen(*about))
            url = key.decode().partition(" ")[2]
            yield from self._unrecorded(url, found)
            yield from _unfounded(url, found)
        yield from self._without_line(totals)

    def _add(self, at: str, url: str, kind: str, where: str = "", digest: str = "") -> None:
        digits = _NOT_DIGITS.sub("", at)
        url = url.replace("\t", " ")
        about = f"{digits[:_SECOND]} {url}\t{kind}\t{digits}\t{where}\t{digest.removeprefix('sha1:')}\n"
        self._sorter.add(about.encode(errors="replace"))

    def _unrecorded(self, url: str, found: dict[str, list[_Seen]]) -> Iterator[Fault]:
        """Lines without an answer; of answers without a line it is only noted."""
        lines = found.get(_LINE, ())
        if self._has_moved:
            # A 304 may be in a file that is not here, and no index tells.
            lines = [
                line for line in lines if line.where != _NOT_INDEXED or _ANSWER in found or _REVISIT in found
            ]
        lined = Counter(line.at for line in lines)
        for answer in (*found.get(_ANSWER, ()), *found.get(_REVISIT, ())):
            path, _, offset = answer.where.rpartition(" byte ")
            if lined[answer.at]:
                lined[answer.at] -= 1
                self._leftovers.has(path, int(offset))
            else:
                self._leftovers.lacks(path, int(offset), url)
        elsewhere = len(found.get(_MOVED, ())) + len(found.get(_MOVED_REVISIT, ()))
        for at in lined.elements():
            if elsewhere:
                elsewhere -= 1
            else:
                yield Fault("fetch log", f"the request of {url} at {at} has no record in the WARC files")

    def _without_line(self, totals: Totals) -> Iterator[Fault]:
        for path, offset, url in self._leftovers.lacking():
            yield Fault(f"{path} byte {offset}", f"the record of {url} has no line in the fetch log")
        if left := self._leftovers.at_ends:
            totals.remarks.append(
                f"records at the ends of files without a line in the fetch log: {left}, as a crash leaves them"
            )
        if more := self._leftovers.more:
            yield Fault("fetch log", f"has no lines for {more} further records")


def _unfounded(url: str, found: dict[str, list[_Seen]]) -> Iterator[Fault]:
    """Revisits that refer to nothing, or to what has not their payload."""
    answers = (*found.get(_ANSWER, ()), *found.get(_MOVED, ()))
    revisits = (*found.get(_REVISIT, ()), *found.get(_MOVED_REVISIT, ()))
    for target in found.get(_TARGET, ()):
        if not answers and not revisits:
            yield Fault(target.where, f"the record refers to one of {url} that is in none of these files")
        elif target.digest and not answers:
            yield Fault(target.where, f"the record refers to one of {url} that is a revisit itself")
        elif target.digest and not any(answer.digest in ("", target.digest) for answer in answers):
            yield Fault(target.where, f"the record refers to one of {url} with another payload")
