"""The pages that DUST rules know, in the storage of the crawl: what a process has in memory is a bounded cache.

A site is held by one process at a time, but sites move between processes, for fair shares or when one dies. Pages are
stored some moments after their URLs are done, and those of a site are read when it is held anew, by its fence, if
another process has written some meanwhile. So a proof goes on where it ended, and a page that another process has
fetched is known."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.errors import CrawlError
from webcrawl.features.dust.learner import PAGES_PER_SITE
from webcrawl.features.dust.withholding import MEMBERS_PER_SITE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.features.dust.knowledge import DustKnowledge
    from webcrawl.features.dust.learner import DustPage, TrackedRule
    from webcrawl.features.dust.store import DustPages

logger = logging.getLogger(__name__)

SITES_MAX = 5_000
"""Sites of which it is known what was read; others are read anew."""
STORED_IN_ALL = 200_000
"""Pages of all sites that are stored."""
SLACK = 1.1
"""A site may have so many times the pages that it is to have, until the oldest are deleted."""
WRITTEN_BETWEEN_COUNTS = 5_000
"""Pages that are written before the pages of all sites are counted again."""
SETTLED_MAX = 20_000
"""Pages that wait to be stored; further ones are not stored."""
LOOKED_AT = -2
"""The fence under which a site is read whose key this process does not hold; each time, if others have written."""
PER_TURN = 100
"""Pages that are learned from in one turn of the event loop."""


@dataclass(slots=True)
class _SitePages:
    fence: int = -1
    header: bytes | None = None
    """The stored header when the site was read or written last."""
    count: int = 0
    """The number of its stored pages."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SharedPages:
    """Reads and writes the pages of sites. Errors of the storage do no harm: pages that are not known are fetched
    again under their other URLs."""

    def __init__(self, store: DustPages, knowledge: DustKnowledge, clock: Callable[[], float]) -> None:
        self._store = store
        self._knowledge = knowledge
        self._clock = clock
        self._sites: OrderedDict[str, _SitePages] = OrderedDict()
        self._open: dict[int, DustPage] = {}
        """Pages whose URLs are not settled yet, by their leases."""
        self._settled: list[DustPage] = []
        self._written = WRITTEN_BETWEEN_COUNTS
        self._failed = False

    async def hold(self, site: str, fence: int) -> list[TrackedRule]:
        """Let the rules know all that is stored of a site, before they learn from a page of it. ``fence``: under
        which its key is held. Return the rules whose state changed."""
        held = self._site(site)
        if held.fence == fence and fence != LOOKED_AT and self._knowledge.knows(site):
            return []
        async with held.lock:
            try:
                changed = await self._read(site, held)
            except CrawlError as error:
                self._tell_failure(error)
                return []
            held.fence = fence
            return changed

    def fetched(self, lease: int, page: DustPage) -> None:
        """Note a page that was fetched under a lease."""
        if len(self._open) >= SETTLED_MAX:
            self._open.clear()
        self._open[lease] = page

    def settled(self, lease: int) -> None:
        """Note that the URL of a page is settled: the page is stored when that is durable."""
        page = self._open.pop(lease, None)
        if page is not None and len(self._settled) < SETTLED_MAX:
            self._settled.append(page)

    def has_settled(self) -> bool:
        """Return whether pages are to be stored."""
        return bool(self._settled)

    def take_settled(self) -> list[DustPage]:
        """Return the pages that are to be stored as soon as all that is settled is durable."""
        pages, self._settled = self._settled, []
        return pages

    async def write(self, pages: Sequence[DustPage]) -> None:
        """Store pages."""
        by_site: dict[str, list[DustPage]] = {}
        for page in pages:
            by_site.setdefault(page.parts.site, []).append(page)
        try:
            for site, (new, header) in (await self._store.put(by_site)).items():
                held = self._site(site)
                if held.fence != -1:
                    held.count, held.header = held.count + new, header
                most = self._most(site)
                if held.count > most * SLACK:
                    await self._store.delete_oldest(site, held.count - most)
                    held.count = most
            self._written += len(pages)
            if self._written >= WRITTEN_BETWEEN_COUNTS:
                self._written = 0
                await self._store.bound(STORED_IN_ALL)
        except CrawlError as error:
            self._tell_failure(error)
        else:
            self._failed = False

    def _most(self, site: str) -> int:
        return MEMBERS_PER_SITE if self._knowledge.withholding.has_rules(site) else PAGES_PER_SITE

    async def _read(self, site: str, held: _SitePages) -> list[TrackedRule]:
        header = await self._store.header(site)
        if header is None or (header == held.header and self._knowledge.knows(site)):
            return []
        pages = await self._store.read(site)
        changed = []
        for first in range(0, len(pages), PER_TURN):
            changed += self._knowledge.restore(site, pages[first : first + PER_TURN], self._clock())
            await asyncio.sleep(0)
        held.header, held.count = header, len(pages)
        return changed

    def _site(self, site: str) -> _SitePages:
        held = self._sites.get(site)
        if held is None:
            held = self._sites[site] = _SitePages()
            if len(self._sites) > SITES_MAX:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(site)
        return held

    def _tell_failure(self, error: CrawlError) -> None:
        if not self._failed:
            logger.warning("Pages of DUST rules cannot be shared at the moment: %s", error)
        self._failed = True
