"""The store of known bodies: their digests, each with the URL that had it first, and the last digest of each page."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.errors import StorageLost
from webcrawl.storage.tables import Change, Row, TableSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec("contents", "contents", without="the crawl goes on, and all pages count as new")
"""The id of an original is its digest, that of a page its fingerprint. A byte of the id gives the partition, so that
the shards share the rows. Rows that are lost count as new again."""

_ORIGINALS = [f"o{number:02x}" for number in range(256)]
_PAGES = [f"p{number:02x}" for number in range(256)]
_HEAD = struct.Struct("<d8s?")
"""The time of the request, the payload, and True if the archive has it; the URL follows."""


@dataclass(frozen=True, slots=True)
class Body:
    """A received body, or its main text. ``digest``: 16 bytes; ``page``: the fingerprint of its URL's canonical form,
    None if the page's change is not queried."""

    digest: bytes
    page: int | None
    url: str
    at: float
    """Epoch seconds when its request was sent."""
    payload: bytes = b""
    """Eight-byte digest of the body as received, in its content coding."""


@dataclass(frozen=True, slots=True)
class Original:
    """URL and time at which a body was first seen."""

    url: str
    at: float
    """Epoch seconds when its request was sent."""


@dataclass(frozen=True, slots=True)
class ContentLookup:
    """Result for a body."""

    original: Original | None = None
    """Set if another URL had the body first."""
    changed: bool | None = None
    """True if the body differs from this URL's last one; None if there was none."""
    archived: Original | None = None
    """URL (possibly this one) under which the same payload is in the archive."""
    first: bool = False
    """True if this body is the original of later duplicates."""
    by_text: bool = False
    """True if the original has the same text but other bytes."""


class ContentStore:
    """Stores digests of bodies, for all processes of the crawl. Every method may raise the CrawlError of its
    storage."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.table(SPEC)

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        """Return the result for each body, in order; new bodies are stored."""
        rows: dict[bytes, Row] = {}
        pages: list[tuple[str, Row]] = []
        for body in bodies:
            if body.digest not in rows:
                rows[body.digest] = _row(body, kept=False)
            if body.page is not None:
                page = (body.page & (1 << 64) - 1).to_bytes(8, "big")
                pages.append((_PAGES[page[7]], Row(page, body.digest)))
        # Both are sent at once to a storage on the network.
        stored, last = await asyncio.gather(
            self._table.add([(_ORIGINALS[row.id[0]], row) for row in rows.values()]), self._table.swap(pages)
        )
        digests = iter(last)
        known = dict(zip(rows, stored, strict=True))
        renewed: dict[bytes, Change] = {}
        lookups = []
        for body in bodies:
            digest, before = body.digest, None if body.page is None else next(digests)
            value = known[digest]
            lookup = _lookup(body, value, None if before is None else before != digest)
            lookups.append(lookup)
            if value is None:
                known[digest] = rows[digest].value
            elif lookup.first:
                # It was not archived since: the later request counts, unless another process has the body by now.
                row, old = _row(body, kept=False), renewed.get(digest)
                expected = {digest: value} if old is None else old.expected
                renewed[digest] = Change(_ORIGINALS[digest[0]], [row], expected=expected)
                known[digest] = row.value
        if renewed:
            await self._table.update(list(renewed.values()))
        return lookups

    async def keep(self, bodies: Sequence[Body]) -> None:
        """Record that the archive has these bodies, which were ``first``."""
        await self._table.update(
            [Change(_ORIGINALS[body.digest[0]], [_row(body, kept=True)]) for body in bodies]
        )


def _row(body: Body, *, kept: bool) -> Row:
    head = _HEAD.pack(body.at, body.payload, kept)
    return Row(body.digest, head + body.url.encode("utf-8", "surrogatepass"))


def _lookup(body: Body, value: bytes | None, changed: bool | None) -> ContentLookup:
    """Compare a body with the stored value of its digest."""
    if value is None:
        return ContentLookup(changed=changed, first=True)
    try:
        at, payload, kept = _HEAD.unpack_from(value)
        url = value[_HEAD.size :].decode("utf-8", "surrogatepass")
    except (struct.error, UnicodeDecodeError) as error:
        raise StorageLost(f"the stored original of {body.url} cannot be read: {error}") from error
    if url == body.url and not kept:
        return ContentLookup(changed=changed, first=True)
    place = Original(url, at)
    same = payload == body.payload.ljust(8, b"\0")
    return ContentLookup(None if url == body.url else place, changed, place if kept and same else None)
