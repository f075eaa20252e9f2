"""The store of a crawl's trap quarantine, which survives a process and is shared by all processes of the crawl."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, astuple, replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from xxhash import xxh3_128_digest

from webcrawl.errors import StorageLost
from webcrawl.features.traps.quarantine import Trap, Withheld
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webcrawl.features.traps.quarantine import Kept
    from webcrawl.storage.tables import Tables

    Rows = Sequence[Row | None]

SPEC = TableSpec(
    "traps",
    "traps",
    without="the crawl goes on, and finds its traps anew",
    durability=Durability.POWER,
    is_ordered=True,
)
"""One partition has all patterns; its header is their version. A partition of each pattern has its withheld URLs; its
header has their counts. Ids are digests, since patterns and URLs can be longer than an id."""

_PATTERNS = "patterns"
_AT_ONCE = 500
"""Rows that are read at once."""


class _Edit(NamedTuple):
    """A change of a partition that depends on its header and on the rows with some ids."""

    partition: str
    ids: Sequence[bytes]
    change: Callable[[Row | None, Rows], Change | None]
    """Returns the change that these rows require, if any."""


class TrapStore:
    """Every method may raise the CrawlError of its storage. Then nothing was changed, or the call can safely be
    repeated."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(SPEC)

    async def version(self) -> str:
        """Return a text that differs after each change of a pattern; withheld URLs do not change it."""
        [header] = await self._table.get([RowId(_PATTERNS, HEADER)])
        return "" if header is None else header.value.hex()

    async def traps(self) -> list[Trap]:
        """Return all patterns that are or were in quarantine, oldest first, with the number of URLs withheld."""
        rows: list[Row] = []
        while some := await self._table.scan(_PATTERNS, _AT_ONCE, rows[-1].id if rows else HEADER):
            rows += some
        with _reading():
            traps = [_trap(row) for row in rows]
            headers = await self._table.get([RowId(_urls_partition(trap.pattern), HEADER) for trap in traps])
            counts = [_counts(header) for header in headers]
        counted = [replace(trap, withheld=count) for trap, (count, _) in zip(traps, counts, strict=True)]
        return sorted(counted, key=lambda trap: (trap.since, trap.pattern))

    async def add(self, traps: Sequence[Trap]) -> None:
        """Put patterns into quarantine; known patterns stay unchanged, including released ones."""
        new = {_id(trap.pattern): trap for trap in reversed(traps)}

        def change(_: Row | None, rows: Rows) -> Change | None:
            return _patterns([trap for trap, row in zip(new.values(), rows, strict=True) if row is None])

        if traps:
            await self._edit([_Edit(_PATTERNS, list(new), change)])

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        """Record withheld URLs, by pattern. ``most`` URLs of each pattern are stored; the rest is only counted."""
        await self._edit([_withholding(pattern, urls, most) for pattern, urls in kept.items()])

    async def release(self, patterns: Sequence[str], now: float) -> None:
        """Release patterns at ``now``, in epoch seconds: none of their URLs is withheld from then on."""

        def change(_: Row | None, rows: Rows) -> Change | None:
            traps = [_trap(row) for row in rows if row is not None]
            return _patterns([replace(trap, released_at=now) for trap in traps if trap.released_at is None])

        if patterns:
            await self._edit([_Edit(_PATTERNS, [_id(pattern) for pattern in patterns], change)])

    async def owed(self, pattern: str, after: bytes, most: int) -> tuple[list[Withheld], bytes | None]:
        """Return up to ``most`` of the stored URLs of a pattern, and where to go on; None if there are no more."""
        rows = await self._table.scan(_urls_partition(pattern), most, after)
        with _reading():
            urls = [Withheld(*json.loads(row.value)) for row in rows]
        return urls, rows[-1].id if len(rows) == most else None

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        """Delete the stored URLs: they are in the queue again or can no longer be queued."""
        partition = _urls_partition(pattern)

        def change(header: Row | None, rows: Rows) -> Change | None:
            count, stored = _counts(header)
            gone = {row.id for row in rows if row is not None}
            left = _header(count, stored - len(gone))
            return Change(partition, [left], list(gone)) if gone else None

        await self._edit([_Edit(partition, [_id(url) for url in urls], change)])

    async def claim(self, worker: str, seconds: float) -> bool:
        """Return whether ``worker`` has the exclusive right to queue released URLs, for ``seconds`` from now; it can
        be renewed."""
        return await self._tables.lock("traps", worker, seconds)

    async def _edit(self, edits: Sequence[_Edit]) -> None:
        """Make changes; repeat those of partitions that another process changed meanwhile."""
        while edits:
            ids = [RowId(edit.partition, row_id) for edit in edits for row_id in (HEADER, *edit.ids)]
            stored = iter(await self._table.get(ids))
            asked: list[tuple[_Edit, Change]] = []
            for edit in edits:
                header, rows = next(stored), [next(stored) for _ in edit.ids]
                with _reading():
                    change = edit.change(header, rows)
                if change is not None:
                    expected = {HEADER: None if header is None else header.value}
                    asked.append((edit, replace(change, expected=expected)))
            outcomes = await self._table.update([change for _, change in asked]) if asked else []
            edits = [edit for (edit, _), is_made in zip(asked, outcomes, strict=True) if not is_made]


def _patterns(traps: Sequence[Trap]) -> Change | None:
    """Return the change that stores patterns under a new version."""
    if not traps:
        return None
    rows = [Row(_id(trap.pattern), json.dumps(asdict(replace(trap, withheld=0))).encode()) for trap in traps]
    return Change(_PATTERNS, [*rows, Row(HEADER, uuid4().bytes)])


def _withholding(pattern: str, kept: Kept, most: int) -> _Edit:
    partition = _urls_partition(pattern)
    urls = {_id(withheld.url): withheld for withheld in kept.urls}

    def change(header: Row | None, rows: Rows) -> Change | None:
        count, stored = _counts(header)
        new = [row_id for row_id, row in zip(urls, rows, strict=True) if row is None][: max(most - stored, 0)]
        put = [Row(row_id, json.dumps(astuple(urls[row_id])).encode()) for row_id in new]
        return Change(partition, [*put, _header(count + kept.count, stored + len(new))])

    return _Edit(partition, list(urls), change)


def _header(count: int, stored: int) -> Row:
    return Row(HEADER, f"{count} {stored}".encode())


def _counts(header: Row | None) -> tuple[int, int]:
    """Return the number of URLs withheld of a pattern, and the number of those that are stored."""
    if header is None:
        return 0, 0
    count, stored = map(int, header.value.split())
    return count, stored


def _trap(row: Row) -> Trap:
    fields = json.loads(row.value)
    return Trap(**{**fields, "samples": tuple(fields["samples"])})


def _urls_partition(pattern: str) -> str:
    return _id(pattern).hex()


def _id(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StorageLost(f"what is stored of traps cannot be read: {error}") from error
