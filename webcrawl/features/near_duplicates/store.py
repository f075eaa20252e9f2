"""The store of sketches: a ring of those of the last pages, and buckets in which similar ones are found.

A sketch is cut into bands, and is found by any band that is equal. The ring has a fixed number of slots, of which the
oldest is used again; each bucket has a fixed number of references to slots. So the size of all is known, whatever
comes. Only first pages are stored: those without a near one before them. A later page is compared with the first
page of its cluster, so clusters do not drift.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from webcrawl.errors import StorageLost
from webcrawl.processing.text_sketch import ERRORS, RECORDED, hashes_in, resemblance
from webcrawl.storage.tables import Change, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec(
    "near_duplicates", "near_duplicates", without="the crawl goes on, and all texts count as new"
)
"""A sketch has the number of its slot as its id, a bucket its own number. The last byte gives the partition, so that
the shards share the rows. Texts whose rows are lost count as new again."""

BANDS = 5
BAND_HASHES = 3
"""Two texts of resemblance r have a band in common with the probability 1 - (1 - r^3)^5: 0.991 for 0.85."""
CANDIDATES_MAX = 4
"""Earlier pages with which a page is compared: those with the most bands in common."""

REFERENCES = 8
"""References of a bucket; the oldest makes room."""
FILLING = 4
"""Mean number of references of a bucket, once the ring is full."""
BLOCK = 64
"""Slots that a process takes at a time."""
_TRIES = 100
_TURN = 8
"""Pages that are compared in one turn of the event loop."""

_SKETCHES = [f"s{number:02x}" for number in range(256)]
_BUCKETS = [f"b{number:02x}" for number in range(256)]
_RING = RowId("ring", b"next")
_HEAD = struct.Struct("<QHBH")
"""The fingerprint of the URL, the depth, flags, and the length of the sketch; sketch, politeness key and URL
follow."""
_REFERENCE = struct.Struct("<II")
"""A slot, and bits of the band that its sketch has in this bucket."""
_STORED, _FOLLOWED = 1, 2


@dataclass(slots=True)
class SketchedPage:
    """A page with a sketch of its main text."""

    fingerprint: int
    """Of the canonical form of its URL."""
    url: str
    key: str
    """The politeness key."""
    depth: int
    sketch: bytes
    is_original: bool = True
    """False for a page that is known to be the copy of another one: it is looked up and not stored."""
    is_stored: bool = False
    """True once the archive has it, and item pipelines may have got it."""
    is_followed: bool = False
    """True once the archive has it, and its links were followed."""
    slot: int | None = None
    """Its place in the ring; None if it is not stored."""

    @property
    def cluster(self) -> str:
        """Identifies the pages of which this is the first."""
        return f"{self.fingerprint & (1 << 64) - 1:016x}"


@dataclass(frozen=True, slots=True)
class NearPage:
    """The first page of the cluster to which a page belongs."""

    first: SketchedPage
    resemblance: float
    """The estimate."""
    is_certain: bool
    """True if the resemblance is above the threshold by several standard errors."""


class SketchStore:
    """Stores sketches, for all processes of the crawl. Every method may raise the CrawlError of its storage."""

    def __init__(self, tables: Tables, most: int) -> None:
        """``most``: pages of which sketches are stored."""
        self._table = tables.table(SPEC)
        self._most = most
        self._buckets = most * BANDS // FILLING
        self._slots: deque[int] = deque()

    async def check_and_add(self, pages: Sequence[SketchedPage]) -> list[NearPage | None]:
        """Return the first page of each one's cluster, None for pages that are the first; these are stored."""
        bands = [_bands(page.sketch, self._buckets) for page in pages]
        numbers = sorted({bucket for each in bands for bucket, _ in each})
        rows = await self._table.get([_bucket_id(number) for number in numbers])
        buckets = {
            number: [] if row is None else _references(row.value)
            for number, row in zip(numbers, rows, strict=True)
        }
        found = [_candidates(each, buckets) for each in bands]
        slots = sorted({slot for each in found for slot in each})
        rows = await self._table.get([_sketch_id(slot) for slot in slots])
        known = {
            slot: page
            for slot, row in zip(slots, rows, strict=True)
            if row is not None and (page := _page(row.value, slot)) is not None
        }
        results: list[NearPage | None] = []
        added: dict[tuple[int, int], list[SketchedPage]] = {}
        """New first pages by their bands."""
        new: list[SketchedPage] = []
        for number, (page, of_page, candidates) in enumerate(zip(pages, bands, found, strict=True), 1):
            firsts = {slot: known[slot] for slot in candidates if slot in known}
            for band in of_page:
                firsts |= {first.slot: first for first in added.get(band, ()) if first.slot is not None}
            near = _nearest(page, firsts.values())
            if near is None and page.is_original:
                page.slot = await self._take_slot()
                new.append(page)
                for band in of_page:
                    added.setdefault(band, []).append(page)
                    _refer(buckets[band[0]], page.slot, band[1])
            results.append(None if near is None or near.first.cluster == page.cluster else near)
            if number % _TURN == 0:
                await asyncio.sleep(0)
        if new:
            changed = sorted({bucket for bucket, _ in added})
            # A reference that another process wrote meanwhile is lost: its sketch has other bands.
            await self._table.update(
                [
                    *[_put(_sketch_id(page.slot or 0), _value(page)) for page in new],
                    *[_put(_bucket_id(bucket), _packed(buckets[bucket])) for bucket in changed],
                ]
            )
        return results

    async def keep(self, pages: Sequence[SketchedPage]) -> None:
        """Record what the archive has, and whose links were followed, of pages that were stored."""
        await self._table.update(
            [_put(_sketch_id(page.slot), _value(page)) for page in pages if page.slot is not None]
        )

    async def _take_slot(self) -> int:
        """Return the next slot of the ring."""
        for _ in range(_TRIES):
            if self._slots:
                return self._slots.popleft()
            [row] = await self._table.get([_RING])
            old = None if row is None else row.value
            start = 0 if old is None else int.from_bytes(old, "big") % self._most
            block = [(start + number) % self._most for number in range(BLOCK)]
            after = ((start + BLOCK) % self._most).to_bytes(8, "big")
            change = Change(_RING.partition, [Row(_RING.id, after)], expected={_RING.id: old})
            if (await self._table.update([change]))[0]:
                self._slots.extend(block)
        raise StorageLost("no place for another sketch could be taken")


def _put(place: RowId, value: bytes) -> Change:
    return Change(place.partition, [Row(place.id, value)])


def _sketch_id(slot: int) -> RowId:
    return RowId(_SKETCHES[slot & 255], slot.to_bytes(4, "big"))


def _bucket_id(number: int) -> RowId:
    return RowId(_BUCKETS[number & 255], number.to_bytes(4, "big"))


def _bands(sketch: bytes, buckets: int) -> list[tuple[int, int]]:
    """Return the bands of a sketch: the bucket of each, and what tells it from others in that bucket."""
    groups: list[list[int]] = [[] for _ in range(BANDS)]
    for each in hashes_in(sketch):
        group = groups[each % BANDS]
        if len(group) < BAND_HASHES:
            group.append(each)
    bands = []
    for number, group in enumerate(groups):
        if group:
            mixed = xxh3_64_intdigest(struct.pack(f"<B{len(group)}I", number, *group))
            bands.append(((mixed >> 32) % buckets, mixed & 0xFFFFFFFF))
    return bands


def _references(value: bytes) -> list[tuple[int, int]]:
    try:
        return list(_REFERENCE.iter_unpack(value))
    except struct.error as error:
        raise StorageLost(f"a bucket of sketches cannot be read: {error}") from error


def _packed(references: Iterable[tuple[int, int]]) -> bytes:
    return b"".join([_REFERENCE.pack(*each) for each in references])


def _refer(references: list[tuple[int, int]], slot: int, tag: int) -> None:
    """Add a reference to a bucket. Another one to the same slot is of a page that was there before."""
    references[:] = [each for each in references if each[0] != slot][1 - REFERENCES :]
    references.append((slot, tag))


def _candidates(bands: Iterable[tuple[int, int]], buckets: dict[int, list[tuple[int, int]]]) -> list[int]:
    """Return the slots whose sketches have the most bands in common with these."""
    votes = Counter(slot for bucket, tag in bands for slot, other in buckets[bucket] if other == tag)
    return [slot for slot, _ in votes.most_common(CANDIDATES_MAX)]


def _nearest(page: SketchedPage, firsts: Iterable[SketchedPage]) -> NearPage | None:
    """Return the first page that a page resembles most, itself included."""
    best: NearPage | None = None
    hashes = hashes_in(page.sketch)
    for first in firsts:
        share, error = resemblance(hashes, hashes_in(first.sketch))
        if first.cluster == page.cluster and share >= RECORDED:
            # It was fetched again, and is no duplicate of anything.
            return NearPage(first, share, is_certain=False)
        if share >= RECORDED and (best is None or share > best.resemblance):
            best = NearPage(first, share, is_certain=share - ERRORS * error >= RECORDED)
    return best


def _value(page: SketchedPage) -> bytes:
    flags = _STORED * page.is_stored | _FOLLOWED * page.is_followed
    head = _HEAD.pack(page.fingerprint & (1 << 64) - 1, min(page.depth, 0xFFFF), flags, len(page.sketch))
    return head + page.sketch + f"{page.key} {page.url}".encode("utf-8", "surrogatepass")


def _page(value: bytes, slot: int) -> SketchedPage:
    try:
        fingerprint, depth, flags, length = _HEAD.unpack_from(value)
        sketch, behind = value[_HEAD.size : _HEAD.size + length], value[_HEAD.size + length :]
        if length % 4 or len(sketch) != length:
            raise ValueError("a sketch is cut off")
        key, _, url = behind.decode("utf-8", "surrogatepass").partition(" ")
    except (struct.error, ValueError) as error:
        raise StorageLost(f"a sketch of an earlier page cannot be read: {error}") from error
    return SketchedPage(
        fingerprint,
        url,
        key,
        depth,
        sketch,
        is_stored=bool(flags & _STORED),
        is_followed=bool(flags & _FOLLOWED),
        slot=slot,
    )
