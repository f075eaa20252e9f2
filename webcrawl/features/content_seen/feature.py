"""Wiring of the content-seen test: it records archived pages until the crawl ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.crawl.feature import Feature
from webcrawl.features.content_seen.content_seen import ContentSeen
from webcrawl.features.content_seen.store import ContentStore

if TYPE_CHECKING:
    from webcrawl.crawl.feature import Parts


class ContentSeenFeature(Feature):
    """The content-seen test of one crawl."""

    def __init__(self, seen: ContentSeen) -> None:
        self.seen = seen

    async def drained(self) -> None:
        """Wait until all archived pages are recorded."""
        await self.seen.close()


def build(parts: Parts) -> ContentSeenFeature:
    """Return the content-seen test of a crawl."""
    return ContentSeenFeature(ContentSeen(ContentStore(parts.backend.tables)))
