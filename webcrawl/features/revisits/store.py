"""The pages of a continuous crawl, by politeness key, each with the time of its next visit.

Table ``visits``: a partition is a politeness key, and a row is a page. Its id is the fingerprint, its value the page
as JSON (``_row``), and its time that of the next visit. A partition has a header while pages of the key are out
(``_Out``). Each change expects the header and the rows from which it was computed, and is computed again if another
worker was faster. A partition with as many pages out as allowed is not due before the first of them is due again.

Table ``lessons``: the learned states of policies. The id of a row is a digest of the worker's name, which may be
empty or long; the value is JSON: the name and the state."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage
from webcrawl.storage.tables import HEADER, Change, DuePartition, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from webcrawl.features.revisits.page import PageId
    from webcrawl.storage.tables import Tables

DUE_COUNTED = 100_000
"""Due pages are counted up to this number."""
DOUBLINGS = 6
"""Number of times that the time doubles after which taken pages are due again, while no visit of their key is
recorded."""

_WITHOUT = "the crawl goes on, and pages fetched before are not revisited"
# Durable, because the frontier marks a page done after its visit is stored, and only stored pages are revisited.
PAGES = TableSpec("visits", "visits", _WITHOUT, Durability.POWER, is_timed=True)
LESSONS = TableSpec("lessons", "visits", _WITHOUT, Durability.POWER, is_ordered=True)

_ALL = ""
"""The partition of all learned states."""
_LESSONS_READ = 1000
"""Number of learned states that are read together."""


class Hint(NamedTuple):
    """A page that may have changed and should be visited at ``at`` (epoch seconds)."""

    key: str
    fingerprint: int
    at: float


@dataclass(frozen=True, slots=True)
class RevisitStatus:
    """Numbers of remembered and due pages, and the time at which the first is due (epoch seconds)."""

    pages: int = 0
    due: int = 0
    next_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """Data about a page for inspecting a crawl from outside."""

    page: RevisitedPage | None = None
    lessons: tuple[str, ...] = ()
    """Learned states of the policies of all workers."""
    pages: int = 0
    """Number of all remembered pages."""


class VisitStore:
    """Pages by politeness key, each with the time of its next visit.

    A taken page is out: it is not due again until its time is over or it is kept again. A key with as many pages out
    as allowed is not due until a visit of one of them is recorded. Every method may raise the CrawlError of its
    storage: then nothing was changed, or the same step can safely be repeated.
    """

    def __init__(self, tables: Tables) -> None:
        """``tables``: not yet open."""
        self._pages = tables.table(PAGES)
        self._lessons = tables.table(LESSONS)

    async def find(self, ids: Sequence[PageId]) -> list[RevisitedPage | None]:
        """Return each remembered page; None for an unknown one."""
        rows = await self._pages.get([RowId(key, _row_id(fingerprint)) for key, fingerprint in ids])
        return [None if row is None else _page(row_id[0], row) for row_id, row in zip(ids, rows, strict=True)]

    async def keep(self, pages: Sequence[RevisitedPage], dropped: Sequence[PageId] = ()) -> None:
        """Store pages, those of a key in one step; they are no longer out. Delete those that are ``dropped``."""
        rows: dict[str, dict[bytes, Row | None]] = {}
        for page in pages:
            row = _row(page)
            rows.setdefault(page.key, {})[row.id] = row
        for key, fingerprint in dropped:
            rows.setdefault(key, {})[_row_id(fingerprint)] = None

        async def changes(keys: Sequence[str]) -> list[Change]:
            return [
                _changed(key, out, out.without(rows[key]), rows[key])
                for key, out in zip(keys, await self._out(keys), strict=True)
            ]

        await self._update(list(rows), changes)

    async def due_keys(self, now: float, most: int, after: DuePartition | None = None) -> list[DuePartition]:
        """Return the first keys with pages due at ``now``, after ``after``, in the order in which they became due."""
        return await self._pages.due_partitions(now, most, after)

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[RevisitedPage]:
        """Take the pages of each key that are due longest, so that at most ``most`` of the key are out; no other
        caller gets them.

        They are due again after ``seconds``, or a multiple of that while no visit of the key's taken pages is
        recorded (twice as long each time, ``DOUBLINGS`` times).
        """
        taken: dict[str, Sequence[Row]] = dict.fromkeys(keys, ())

        async def changes(keys: Sequence[str]) -> list[Change]:
            partition_changes = []
            outs, due = await self._out(keys), await self._pages.due_rows(keys, now, most)
            for key, before, rows in zip(keys, outs, due, strict=True):
                left = {row_id: until for row_id, until in before.until.items() if until > now}
                taken[key] = rows = rows[: max(most - len(left), 0)]
                if not rows and not before.until:
                    continue
                until = now + seconds * 2.0 ** min(before.unacknowledged, DOUBLINGS)
                left |= {row.id: until for row in rows}
                after = _Out(left, before.unacknowledged + bool(rows))
                not_before = min(left.values()) if len(left) >= most else 0.0
                put = {row.id: row._replace(at=until) for row in rows}
                partition_changes.append(_changed(key, before, after, put, rows, not_before))
            return partition_changes

        await self._update(list(taken), changes)
        return [_page(key, row) for key, rows in taken.items() for row in rows]

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        """Make each page due at its time unless it is due earlier or out; those of a key in one step. False: the page
        is not remembered. Of the hints that two workers give for one page at the same moment, any may count."""
        times: dict[str, dict[bytes, float]] = {}
        for key, fingerprint, at in hints:
            row_id, of_key = _row_id(fingerprint), times.setdefault(key, {})
            of_key[row_id] = min(at, of_key.get(row_id, at))
        pages: dict[RowId, Row | None] = {}

        async def changes(keys: Sequence[str]) -> list[Change]:
            ids = [RowId(key, row_id) for key in keys for row_id in times[key]]
            outs = await self._out(keys)
            pages.update(zip(ids, await self._pages.get(ids), strict=True))
            computed = []
            for key, out in zip(keys, outs, strict=True):
                rows = [row for row_id in times[key] if (row := pages[RowId(key, row_id)]) is not None]
                rows = [row for row in rows if row.id not in out.until and _is_later(row, times[key][row.id])]
                if rows:
                    put = {row.id: row._replace(at=times[key][row.id]) for row in rows}
                    computed.append(_changed(key, out, out, put, rows))
            return computed

        await self._update(list(times), changes)
        return [pages[RowId(key, _row_id(fingerprint))] is not None for key, fingerprint, _ in hints]

    async def save_lessons(self, worker: str, lessons: str) -> None:
        """Store the learned state of a worker's policy; see ``policies.LearningPolicy``."""
        row_id = blake2b(json.dumps(worker).encode(), digest_size=16).digest()
        await self._lessons.swap([(_ALL, Row(row_id, json.dumps([worker, lessons]).encode()))])

    async def lessons(self) -> dict[str, str]:
        """Return the learned states of policies, by worker."""
        lessons: list[Row] = []
        while more := await self._lessons.scan(_ALL, _LESSONS_READ, lessons[-1].id if lessons else HEADER):
            lessons += more
        return dict(json.loads(row.value) for row in lessons)

    async def status(self, now: float) -> RevisitStatus:
        """Return the number of pages that are remembered, and of those that are due."""
        status = await self._pages.status(now, DUE_COUNTED)
        return RevisitStatus(status.rows, status.due, status.next_at)

    async def lookup(self, page_id: PageId) -> Lookup:
        """Return the data for inspecting a page; without ``page`` if it is not remembered."""
        [page] = await self.find([page_id])
        if page is None:
            return Lookup()
        pages = (await self._pages.status(0.0, 0)).rows
        return Lookup(page, tuple((await self.lessons()).values()), pages)

    async def _out(self, keys: Sequence[str]) -> list[_Out]:
        headers = await self._pages.get([RowId(key, HEADER) for key in keys])
        return [_NONE_OUT if header is None else _Out.of(header.value) for header in headers]

    async def _update(
        self, keys: Sequence[str], changes: Callable[[Sequence[str]], Awaitable[list[Change]]]
    ) -> None:
        """Make ``changes(keys)``. Those of which another worker changed the basis are computed again."""
        while keys:
            computed = await changes(keys)
            outcomes = await self._pages.update(computed)
            keys = [
                change.partition for change, is_made in zip(computed, outcomes, strict=True) if not is_made
            ]


@dataclass(frozen=True, slots=True)
class _Out:
    """The header of a key."""

    until: Mapping[bytes, float] = field(default_factory=dict)
    """The pages that are out, by row id: when they are due again."""
    unacknowledged: int = 0
    """Number of times that pages were taken since the result of one was last stored. Pages are out if it is not 0."""

    @classmethod
    def of(cls, header: bytes) -> _Out:
        return cls(dict(_PAGE_OUT.iter_unpack(header[1:])), header[0])

    def packed(self) -> bytes | None:
        """Return the header; None if there is none."""
        if not self.until:
            return None
        count = min(self.unacknowledged, DOUBLINGS)
        return bytes([count]) + b"".join(_PAGE_OUT.pack(*page) for page in self.until.items())

    def without(self, ids: Iterable[bytes]) -> _Out:
        """Return the header after results of the pages ``ids`` were stored."""
        acknowledged = self.until.keys() & ids
        if not acknowledged:
            return self
        return _Out({page: until for page, until in self.until.items() if page not in acknowledged})


_NONE_OUT = _Out()
_PAGE_OUT = struct.Struct(">8sd")
"""A row id, and a time."""


def _changed(
    key: str,
    before: _Out,
    after: _Out,
    rows: Mapping[bytes, Row | None],
    based_on: Sequence[Row] = (),
    not_before: float = 0.0,
) -> Change:
    """Return the change of a key. ``rows``: by id; None: delete it. ``based_on``: rows that must be as they are."""
    known, header = before.packed(), after.packed()
    put = [row for row in rows.values() if row is not None]
    delete = [row_id for row_id, row in rows.items() if row is None]
    if header is not None and header != known:
        put.append(Row(HEADER, header))
    elif header is None and known is not None:
        delete.append(HEADER)
    expected = {HEADER: known, **{row.id: row.value for row in based_on}}
    return Change(key, put, delete, expected, not_before)


def _is_later(row: Row, at: float) -> bool:
    return row.at is not None and row.at > at


def _row_id(fingerprint: int) -> bytes:
    return fingerprint.to_bytes(8, "big", signed=True)


def _row(page: RevisitedPage) -> Row:
    """Pack a page, without empty fields at the end."""
    row = [page.url, page.history.text(), page.digest.hex(), page.came_at, page.depth, page.gone, page.failed]
    rest = [page.kind, page.via, page.etag, page.last_modified, page.payload, page.fresh_seconds]
    while rest[-1] is None:
        rest.pop()
    packed = json.dumps([*row, *rest], separators=(",", ":")).encode()
    return Row(_row_id(page.fingerprint), packed, page.next_visit_at)


def _page(key: str, row: Row) -> RevisitedPage:
    url, history, digest, came_at, depth, gone, failed, kind, *rest = json.loads(row.value)
    via, etag, last_modified, payload, fresh = [*rest, None, None, None, None, None][:5]
    fingerprint = int.from_bytes(row.id, "big", signed=True)
    assert row.at is not None
    return RevisitedPage(
        key,
        fingerprint,
        url,
        History.of(history),
        row.at,
        bytes.fromhex(digest),
        came_at,
        etag,
        last_modified,
        kind,
        depth,
        via,
        payload,
        fresh,
        gone,
        failed,
    )
