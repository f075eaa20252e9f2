"""The store of a crawl's trap quarantine, which survives a process and is shared by all processes of the crawl."""

from __future__ import annotations

import json
from dataclasses import asdict, astuple, replace
from typing import TYPE_CHECKING

from webcrawl.features.beliefs.store import BeliefStore, Edit, digest_id
from webcrawl.features.traps.quarantine import Trap, Withheld
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.features.traps.quarantine import Kept

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


class TrapStore(BeliefStore[Trap]):
    """The patterns and their withheld URLs. Patterns are undone by their text."""

    spec = SPEC
    partition = "patterns"
    what = "traps"

    @staticmethod
    def _row_id(belief_id: str) -> bytes:
        return digest_id(belief_id)

    def _pack(self, belief: Trap) -> Row:
        return Row(digest_id(belief.pattern), json.dumps(asdict(replace(belief, withheld=0))).encode())

    def _unpack(self, row: Row) -> Trap:
        fields = json.loads(row.value)
        return Trap(**{**fields, "samples": tuple(fields["samples"])})

    def _join(self, kept: Trap, new: Trap) -> None:
        """Known patterns stay unchanged, released ones too."""

    def _undone(self, belief: Trap, now: float) -> Trap | None:
        return replace(belief, released_at=now) if belief.released_at is None else None

    async def _count(self, beliefs: Sequence[Trap]) -> list[Trap]:
        ids = [RowId(_urls_partition(trap.pattern), HEADER) for trap in beliefs]
        counts = map(_counts, await self._table.get(ids))
        counted = [replace(trap, withheld=count) for trap, (count, _) in zip(beliefs, counts, strict=True)]
        return sorted(counted, key=lambda trap: (trap.since, trap.pattern))

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        """Record withheld URLs, by pattern. ``most`` URLs of each pattern are stored; the rest is only counted."""
        await self._edit(*(_withholding(pattern, urls, most) for pattern, urls in kept.items()))

    async def owed(self, pattern: str, after: bytes, most: int) -> tuple[list[Withheld], bytes | None]:
        """Return up to ``most`` of the stored URLs of a pattern, and where to go on; None if there are no more."""
        return await self._page(
            _urls_partition(pattern), after, most, lambda row: Withheld(*json.loads(row.value))
        )

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        """Delete the stored URLs: they are in the queue again or can no longer be queued."""
        partition = _urls_partition(pattern)

        def change(header: Row | None, rows: Rows) -> Change | None:
            count, stored = _counts(header)
            gone = {row.id for row in rows if row is not None}
            left = _header(count, stored - len(gone))
            return Change(partition, [left], list(gone)) if gone else None

        await self._edit(Edit(partition, [digest_id(url) for url in urls], change))


def _withholding(pattern: str, kept: Kept, most: int) -> Edit:
    partition = _urls_partition(pattern)
    urls = {digest_id(withheld.url): withheld for withheld in kept.urls}

    def change(header: Row | None, rows: Rows) -> Change | None:
        count, stored = _counts(header)
        new = [row_id for row_id, row in zip(urls, rows, strict=True) if row is None][: max(most - stored, 0)]
        put = [Row(row_id, json.dumps(astuple(urls[row_id])).encode()) for row_id in new]
        return Change(partition, [*put, _header(count + kept.count, stored + len(new))])

    return Edit(partition, list(urls), change)


def _header(count: int, stored: int) -> Row:
    return Row(HEADER, f"{count} {stored}".encode())


def _counts(header: Row | None) -> tuple[int, int]:
    """Return the number of URLs withheld of a pattern, and the number of those that are stored."""
    if header is None:
        return 0, 0
    count, stored = map(int, header.value.split())
    return count, stored


def _urls_partition(pattern: str) -> str:
    return digest_id(pattern).hex()
