"""Checks of single records of a WARC file, of neighbouring records, and of the indexes.

A check yields problems, counts the items it has checked, and distinguishes what a crash may have left from other
problems.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from webcrawl.archive.records import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from webcrawl.archive.reading import WarcRecord


TYPES = frozenset(
    {"warcinfo", "response", "request", "revisit", "metadata", "resource", "conversion", "continuation"}
)
TRUNCATED = frozenset({"length", "time", "disconnect", "unspecified"})
NEAR = 64
"""The largest number of records between two that refer to each other."""
AHEAD_SECONDS = 86_400.0
"""Seconds that a date may be in the future, since the clocks of machines differ."""

_ALWAYS = ("warc-type", "warc-record-id", "warc-date")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
_RECORD_ID = re.compile(r"<[a-z][a-z0-9+.-]*:[!-~]+>", re.IGNORECASE)
_PROFILE = re.compile(r"http://netpreserve\.org/warc/1\.[01]/revisit/[a-z-]+")


def record_problems(record: WarcRecord, now: float) -> Iterator[str]:
    """Yield the problems of the record alone; each completes the sentence 'the record ...'."""
    fields = record.fields
    yield from _identity_problems(record)
    yield from _date_problems(fields.get("warc-date", ""), now)
    yield from _digest_problems(record)
    if (cut := fields.get("warc-truncated")) is not None and cut not in TRUNCATED:
        yield f"has a WARC-Truncated that is not in the standard: {cut!r}"
    if (address := fields.get("warc-ip-address")) is not None:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            yield f"has an invalid WARC-IP-Address: {address!r}"
    if record.type == "revisit":
        yield from _revisit_problems(fields)
    if record.type in ("response", "request") and not record.message_head and _claims_http(record):
        yield "holds no complete HTTP header"


def _identity_problems(record: WarcRecord) -> Iterator[str]:
    for name in _ALWAYS:
        if not record.fields.get(name):
            yield f"has no {name}"
    for name in record.repeated:
        if name != "warc-concurrent-to":  # the one field that may be repeated (WARC 1.1, section 5.7)
            yield f"has more than one {name}"
    if record.type and record.type not in TYPES:
        yield f"is of the type {record.type!r}, which is not in the standard"
    if (known_as := record.fields.get("warc-record-id")) and not _RECORD_ID.fullmatch(known_as):
        yield f"has a WARC-Record-ID that is no URI in angle brackets: {known_as!r}"
    if record.type not in ("warcinfo", "") and not record.url:
        yield "has no WARC-Target-URI"


def _date_problems(date: str, now: float) -> Iterator[str]:
    if not date:
        return
    try:
        if not _DATE.fullmatch(date):
            raise ValueError
        at = datetime.strptime(date[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        yield f"has an invalid WARC-Date: {date!r}"
        return
    if at > now + AHEAD_SECONDS:
        yield f"has a WARC-Date in the future: {date}"


def _digest_problems(record: WarcRecord) -> Iterator[str]:
    digest = record.fields.get("warc-block-digest")
    if digest is not None and digest.startswith("sha1:") and digest != record.block_digest:
        yield f"has a block that does not match its digest: {record.block_digest}, not {digest}"
    digest = record.fields.get("warc-payload-digest")
    if digest is not None and record.type != "revisit" and digest.startswith("sha1:"):
        computed = record.payload_digest
        if computed != digest:
            yield f"has a payload that does not match its digest: {computed}, not {digest}"


def _revisit_problems(fields: dict[str, str]) -> Iterator[str]:
    profile = fields.get("warc-profile", "")
    if not _PROFILE.fullmatch(profile):
        yield f"has an unknown WARC-Profile: {profile!r}"
    if profile == f"{PROFILES}identical-payload-digest" and "warc-payload-digest" not in fields:
        yield "has no WARC-Payload-Digest, which identifies its payload"
    if "warc-refers-to-target-uri" not in fields or "warc-refers-to-date" not in fields:
        yield "does not name the record that it refers to"


def _claims_http(record: WarcRecord) -> bool:
    """Return True if the record has a payload digest; a head that readers parse differently has none, which is no
    problem.
    """
    return "warc-payload-digest" in record.fields


class Pairs:
    """Checks that records of a file which belong together are there: each answer with its request and its
    metadata.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[str, str]] = OrderedDict()  # id -> date and URL of the last NEAR
        self._wanted: OrderedDict[str, tuple[int, int]] = (
            OrderedDict()
        )  # id -> the record that refers to it, number of records
        self._number = 0

    def problems(self, record: WarcRecord) -> Iterator[tuple[int, str]]:
        """Yield the problems that this record reveals: the offset of the record, and a description."""
        self._number += 1
        name, about = (
            record.fields.get("warc-record-id", ""),
            (record.fields.get("warc-date", ""), record.url),
        )
        if name in self._seen:
            yield record.start, f"has the WARC-Record-ID of a record shortly before: {name}"
        self._wanted.pop(name, None)
        other = record.fields.get("warc-concurrent-to")
        if other is not None:
            if other not in self._seen:
                self._wanted[other] = (record.start, self._number)
            elif self._seen[other] != about:
                yield record.start, "differs in date or URL from the record that it belongs to"
        self._seen[name] = about
        if len(self._seen) > NEAR:
            self._seen.popitem(last=False)
        while self._wanted and self._number - next(iter(self._wanted.values()))[1] > NEAR:
            other, (at, _) = self._wanted.popitem(last=False)
            yield at, f"belongs to a record that does not exist: {other}"

    def left(self) -> Iterator[tuple[int, str]]:
        """Yield the missing records at the end of the file, except those that the very last record refers to."""
        for other, (at, number) in self._wanted.items():
            if number < self._number:
                yield at, f"belongs to a record that does not exist: {other}"

    @property
    def ends_alone(self) -> bool:
        """Return True if the last record refers to one that would have come next."""
        return any(number == self._number for _, number in self._wanted.values())


LACKING_MAX = 10_000
"""The number of items without a counterpart whose offsets are kept until it is known whether a crash left them."""


class ArchiveProblem(NamedTuple):
    """A problem of the archive, and where it is."""

    where: str
    what: str


@dataclass(slots=True)
class ArchiveTotals:
    """Numbers of the checked items."""

    files: int = 0
    bytes: int = 0
    records: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    """Lines of the fetch logs."""
    indexed: int = 0
    """Lines of the indexes."""
    links: int = 0
    """Lines of the link logs."""
    problems: int = 0
    remarks: list[str] = field(default_factory=list)
    """Observations that are no problems but worth reporting."""


class Beside(Protocol):
    """Further data about each fetch, checked against the fetch log in the same pass."""

    def logged(self, folder: Path, line: Mapping[str, Any]) -> None:
        """Take a line of the fetch log in ``folder``; lines come in their order."""
        ...

    def problems(self, totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
        """Yield all problems, after the last line. Raises OSError."""
        ...


class Leftovers:
    """Separates the items at the end of a file that a crash left from those that lack their counterpart otherwise."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._lacking: list[tuple[str, int, str]] = []
        self.more = 0
        """The number of items beyond those that could be kept."""
        self.at_ends = 0
        """The number of items that a crash may have left; known once ``lacking`` is exhausted."""

    def has(self, path: str, offset: int) -> None:
        """Note that the item at this offset of a file has its counterpart. Offsets grow as the file does."""
        self._last[path] = max(self._last.get(path, 0), offset)

    def lacks(self, path: str, offset: int, what: str) -> None:
        """Note that the item at this offset has no counterpart."""
        if len(self._lacking) < LACKING_MAX:
            self._lacking.append((path, offset, what))
        else:
            self.more += 1

    def lacking(self) -> Iterator[tuple[str, int, str]]:
        """Yield the items without a counterpart that come before an item with one: file, offset, description."""
        for path, offset, what in self._lacking:
            if offset > self._last.get(path, -1):
                self.at_ends += 1
            else:
                yield path, offset, what


def file_problems(sentences: list[str]) -> Iterator[ArchiveProblem]:
    """Yield sentences about files as problems, and clear the list."""
    for sentence in sentences:
        where, _, what = sentence.partition(": ")
        yield ArchiveProblem(where, what)
    sentences.clear()


_SHOWN_MAX = 300


def index_problems(path: Path, expected: Iterator[bytes], totals: ArchiveTotals) -> Iterator[ArchiveProblem]:
    """Yield the problems of the index at ``path``, which should have the ``expected`` lines, given in order."""
    if not path.exists():
        yield ArchiveProblem(str(path), "does not exist; scrapy archive index rebuilds it")
        return
    before = b""
    due = next(expected, None)
    with path.open("rb") as stream:
        for line in stream:
            totals.indexed += 1
            if line < before:
                yield ArchiveProblem(str(path), f"is not sorted: {_excerpt(line)}")
                return
            before = line
            while due is not None and due < line:
                yield ArchiveProblem(str(path), f"lacks the line {_excerpt(due)}")
                due = next(expected, None)
            if line == due:
                due = next(expected, None)
            else:
                yield ArchiveProblem(str(path), f"has a line without a record: {_excerpt(line)}")
    while due is not None:
        yield ArchiveProblem(str(path), f"lacks the line {_excerpt(due)}")
        due = next(expected, None)


def _excerpt(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\n")[:_SHOWN_MAX]
