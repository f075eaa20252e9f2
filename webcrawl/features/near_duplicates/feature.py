"""Wiring of near-duplicates: the look-ups of a crawl, which record archived pages until it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.crawl.feature import Feature
from webcrawl.features.batched_lookups import BatchedLookups
from webcrawl.features.near_duplicates.store import SketchStore
from webcrawl.processing.contract import FieldType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webcrawl.crawl.feature import Parts
    from webcrawl.features.near_duplicates.store import NearPage, SketchedPage

FIELDS: Mapping[str, FieldType] = {"near_duplicate_of": FieldType.LINE, "cluster": FieldType.LINE}
"""The fields of an item that name the first page of its cluster, and the cluster."""

AT_ONCE = 64


class NearDuplicatesFeature(Feature):
    """Looks up the texts of one crawl."""

    fields = FIELDS

    def __init__(self, store: SketchStore) -> None:
        self.lookups: BatchedLookups[SketchedPage, NearPage | None] = BatchedLookups(store, None, AT_ONCE)

    async def drained(self) -> None:
        """Wait until all archived pages are recorded."""
        await self.lookups.close()


def build(parts: Parts) -> NearDuplicatesFeature:
    """Return the look-ups of a crawl."""
    return NearDuplicatesFeature(SketchStore(parts.backend.tables, parts.configuration.near_duplicates_max))
