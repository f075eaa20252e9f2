"""The store of the trust in the hints of sites: a row for each politeness key that gave hints, of about 500 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.errors import StorageLost
from webcrawl.features.hints.trust import Trust
from webcrawl.storage.tables import HEADER, Row, RowId, TableSpec

if TYPE_CHECKING:
    from webcrawl.storage.tables import Tables

SPEC = TableSpec("hints", "hints", without="the crawl goes on, and trusts all sites alike")
"""A partition is a politeness key; its header is ``Trust.text``. Trust that is lost is learned anew."""


class TrustStore:
    """Every method may raise the CrawlError of its storage. If two processes save the same site at the same time, one
    of the values remains, which is sufficient for a sample."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.table(SPEC)

    async def load(self, key: str) -> Trust:
        """Return the trust in a politeness key; the initial trust if there are no results."""
        [row] = await self._table.get([RowId(key, HEADER)])
        try:
            return Trust() if row is None else Trust.of(row.value)
        except ValueError as error:
            raise StorageLost(f"the stored trust in {key} cannot be read: {error}") from error

    async def save(self, key: str, trust: Trust) -> None:
        """Store the trust in a politeness key."""
        await self._table.swap([(key, Row(HEADER, trust.text().encode()))])
