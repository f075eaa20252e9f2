"""Spider-side downloader middleware: looks up whether a page's bytes or main text came before, ahead of all
processing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from webcrawl.archive.capture import Revisit
from webcrawl.crawl.context import get_context
from webcrawl.crawl.page_processing import PageTexts
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.features.content_seen.content_seen import digest, follows, payload_digest
from webcrawl.features.content_seen.store import Body
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.content_seen.content_seen import ContentSeen
    from webcrawl.features.content_seen.feature import ContentSeenFeature


class ContentSeenMiddleware:
    """Records in ``FetchMeta.original`` the URL that had the same body or main text first, and the result in the log.

    Only pages that arrived completely with a 2xx status are looked up. The spider decides how duplicates are treated.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        context = get_context(crawler)
        feature: ContentSeenFeature | None = context.features.get("content_seen")
        self._seen = None if feature is None else feature.seen
        self._texts = None if context.texts is None else PageTexts(crawler, context.texts)
        self._links = context.configuration.content_seen_links
        self._by_text = context.configuration.content_seen == "text"
        self._archives = context.archive is not None and context.configuration.warc_enabled

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ContentSeenMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        seen = self._seen
        if seen is None or not response.body or not 200 <= response.status < 300 or response.flags:
            return response
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.lease.entry.kind != Kind.PAGE:
            return response
        return self._look_up(seen, flight, request, response)

    async def _look_up(
        self, seen: ContentSeen, flight: InFlightRequest, request: Request, response: Response
    ) -> Response:
        entry, archived = flight.lease.entry, flight.outcome.entry
        capture = None if archived is None else archived.capture
        # For a page longer than its archived part, the archive does not show whether it came again.
        if archived is None or capture is None or capture.truncated is not None:
            return response
        payload = payload_digest(capture.payload)
        body = Body(digest(response.body), entry.fingerprint, capture.url, capture.started_at, payload)
        text = b""
        if self._texts is not None and self._by_text:
            text = await self._texts.digest(request, response)
        lookup = await seen.check_and_add(body, text)
        if lookup.original is not None:
            facts = fetch_meta(request)
            facts.original = lookup.original.url
            facts.follows_links = follows(self._links, response.url, facts.original, lookup.by_text)
            flight.tally.duplicates += 1
            archived.record.extra["duplicate_of"] = lookup.original.url
        if lookup.changed is not None:
            archived.record.extra["changed"] = lookup.changed
        if lookup.archived is not None:
            archived.revisit = Revisit("identical-payload-digest", lookup.archived.url, lookup.archived.at)
        elif lookup.first and self._archives:
            archived.kept = partial(seen.keep, body)
        return response
