"""Spider-side downloader middleware: looks up whether nearly the same main text came before, ahead of all
processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.crawl.context import get_context
from webcrawl.crawl.page_processing import PageTexts
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.features.near_duplicates.store import SketchedPage
from webcrawl.fetching.meta import NearDuplicate, fetch_meta
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.near_duplicates.feature import NearDuplicatesFeature
    from webcrawl.features.near_duplicates.store import NearPage

_DIGITS = 3
"""Decimal places of a resemblance in the log; its standard error is about 0.03."""


class NearDuplicatesMiddleware:
    """Records in ``FetchMeta.near_duplicate`` and in the log the first page of the cluster to which a page belongs,
    and removes the body of a page that is not stored from its entry for the archive.

    Only pages that arrived completely with a 2xx status are looked up. The middleware of pages withholds links and
    items.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        context = get_context(crawler)
        feature: NearDuplicatesFeature = context.features.get("near_duplicates")
        assert context.texts is not None
        self._lookups = feature.lookups
        self._texts = PageTexts(crawler, context.texts)
        choices = context.configuration.near_duplicates
        self._nofollow, self._nostore = "nofollow" in choices, "nostore" in choices

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatesMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        if not response.body or not 200 <= response.status < 300 or response.flags:
            return response
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.lease.entry.kind != Kind.PAGE or flight.lease.entry.embed_hops:
            return response
        archived = flight.outcome.entry
        if archived is None or archived.capture is None or archived.capture.truncated is not None:
            return response
        if fetch_meta(request).original is not None and (not self._nostore or archived.revisit is not None):
            # The same bytes: the page is a duplicate, and its body is in the archive.
            return response
        return self._look_up(flight, archived, request, response)

    async def _look_up(
        self, flight: InFlightRequest, archived: ArchiveEntry, request: Request, response: Response
    ) -> Response:
        sketch = await self._texts.sketch(request, response)
        if not sketch:
            return response
        entry, facts = flight.lease.entry, fetch_meta(request)
        page = SketchedPage(
            entry.fingerprint,
            response.url,
            entry.key,
            entry.depth,
            sketch,
            is_original=facts.original is None,
        )
        near = await self._lookups.look_up(page)
        if near is not None:
            facts.near_duplicate = self._note(near, page, archived)
        elif page.slot is not None and (self._nofollow or self._nostore):
            archived.kept = _both(archived.kept, lambda: self._keep(page, archived))
        return response

    def _keep(self, page: SketchedPage, archived: ArchiveEntry) -> None:
        """Record a first page whose entry is durable: from now on near ones may be withheld, except for what its
        author did not allow of this one."""
        facts = archived.record.extra
        page.is_stored = not (facts.get("noindex") or facts.get("withheld"))
        page.is_followed = not (facts.get("nofollow") or facts.get("links_dropped"))
        self._lookups.keep(page)

    def _note(self, near: NearPage, page: SketchedPage, archived: ArchiveEntry) -> NearDuplicate:
        """Return what follows from a near page, and write it to the log. Nothing is withheld on the word of another
        site, nor before the first page is in the archive."""
        first = near.first
        is_certain = near.is_certain and first.key == page.key
        duplicate = NearDuplicate(
            first.url,
            first.cluster,
            near.resemblance,
            follows_links=not (
                self._nofollow and is_certain and first.is_followed and first.depth <= page.depth
            ),
            is_stored=not (self._nostore and is_certain and first.is_stored),
        )
        extra = archived.record.extra
        extra |= {
            "near_duplicate_of": duplicate.url,
            "cluster": duplicate.cluster,
            "resemblance": round(duplicate.resemblance, _DIGITS),
        }
        if not duplicate.follows_links:
            extra["links_withheld"] = True
        if not duplicate.is_stored:
            extra["body_withheld"] = True
            if archived.capture is not None and archived.revisit is None:
                # The archive has the head, and says that its body is not there (WARC 1.1, section 5.13).
                archived.capture.payload, archived.capture.truncated = b"", "unspecified"
                archived.kept = None
        return duplicate


def _both(one: Callable[[], None] | None, other: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        if one is not None:
            one()
        other()

    return call
