"""The middleware that passes a page's links to the frontier all at once, except those that the page's author asks not
to follow.
"""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http import Request

from webcrawl.crawl.context import get_context
from webcrawl.crawl.page_processing import PageProcessing, response_type, tell
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.fetching.meta import detach, fetch_meta
from webcrawl.items import Page
from webcrawl.parsing.links import EMBEDS, LinkColumns
from webcrawl.parsing.mime import HTML_TYPES
from webcrawl.parsing.offload import TURN_SECONDS
from webcrawl.robots.page_directives import RobotsTags
from webcrawl.urls.schemes import WEB

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.fetching.meta import NearDuplicate
    from webcrawl.frontier.intake import TakenLinks
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.frontier.tally import Tally
    from webcrawl.processing.contract import FieldType

logger = logging.getLogger(__name__)


HEADER, META, REL = "robots-header", "robots-meta", "rel"
"""The rules under which links are counted that authors ask not to follow."""
NEAR_DUPLICATE = "near-duplicate"
"""The rule under which links of near-duplicates are counted."""
EMBED = "embed"
"""The rule under which links are counted of pages that are embedded and not in scope themselves."""


class _Place(NamedTuple):
    """The place of a page among those that embed it. ``is_outside``: it is an embed and not in scope itself.
    ``embed_hops``: from a page in scope to what this one embeds.
    """

    is_outside: bool
    embed_hops: int


class PageMiddleware:
    """Passes the links of Page items to the frontier, and gives ordinary Requests the page where they were found.

    A page whose author asks not to store or index it ends here, and so does one whose bytes were processed before: it
    is in the archive and in the log, but does not reach pipelines and feeds. Its links are followed unless the author
    asks for that not to be done, too.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        context = get_context(crawler)
        self._context = context
        self._intake = context.intake
        self._features = context.features
        self._long_work = asyncio.Lock()
        """Pages with very many links are processed one at a time: the loop waits for one part of one page."""
        self._avoided = frozenset(context.configuration.nofollow_rels)
        self._usage = context.features.get("usage")
        near = context.features.get("near_duplicates")
        self._near_fields: Mapping[str, FieldType] = {} if near is None else near.fields
        self._keeps_links = context.archive is not None and context.archive.wants_links
        self._keeps_fields = context.archive is not None and context.archive.wants_fields
        chain = context.processing
        self._processing = None if chain is None else PageProcessing(crawler, chain)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PageMiddleware:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        if "truncated" in response.flags and 200 <= response.status < 300:
            self._tell_cut(response)
        async for output in result:
            if isinstance(output, Page):
                in_header = self._complete(output, response)
                flight = get_in_flight_request(self._crawler, response.request)
                if self._usage is not None:
                    self._complete_usage(output, response, flight)
                place = None if flight is None else self._page_place(output, flight.lease.entry)
                beside = output.document.beside if output.document is not None else {}
                if self._processing is not None:
                    self._processing.begin(output)
                if self._near_fields:
                    self._name_cluster(output, response)
                if self._processing is not None and self._processing.applies(output):
                    await self._processing.process(output, response)
                if flight is not None and place is not None:
                    output.robots_received = flight.lease.robots_received
                    self._page(output, flight, in_header)
                    await self._follow(output, response, flight, in_header, beside, place)
                if output.noindex or output.withheld or output.embedded or output.duplicate_of is not None:
                    continue
            elif isinstance(output, Request):
                self._detach_request(output, response)
            elif (self._usage is not None and self._is_withheld(response)) or (
                self._near_fields and (near := _near_duplicate(response)) and not near.is_stored
            ):
                continue
            yield output

    def _complete_usage(self, page: Page, response: Response, flight: InFlightRequest | None) -> None:
        """Add what a page may be used for: what its elements say counts together with what was known before."""
        assert response.request is not None
        facts = fetch_meta(response.request)
        if page.document is not None:
            self._usage.add(flight, facts, self._usage.read_page(page.document))
        elif page.mime in HTML_TYPES:
            # A duplicate that was not parsed, or a page that a spider made itself.
            self._usage.complete(flight, facts, response)
        page.usage, page.withheld = self._usage.verdicts(facts.usage), facts.withheld

    def _is_withheld(self, response: Response) -> bool:
        """Return True if no item of a response may reach pipelines and feeds."""
        if response.request is None:
            return False
        flight = get_in_flight_request(self._crawler, response.request)
        return bool(self._usage.withholds_response(flight, fetch_meta(response.request), response))

    def _name_cluster(self, page: Page, response: Response) -> None:
        """Add the first page with nearly the same text to a page, which is withheld if its body is not stored."""
        page.schema = {**page.schema, **self._near_fields}
        near = _near_duplicate(response)
        if near is not None:
            page.fields |= {"near_duplicate_of": near.url, "cluster": near.cluster}
            page.withheld = page.withheld or not near.is_stored

    def _page_place(self, page: Page, entry: UrlEntry) -> _Place:
        """Return the place of a page in the crawl. One that is only embedded itself is marked as such."""
        hops = entry.embed_hops
        # The rule that compares a site with that of the page before needs a page in scope for that.
        is_outside = bool(hops) and (hops > 1 or entry.redirects > 0 or not self._intake.is_in_scope(entry))
        page.embedded = page.embedded or is_outside
        return _Place(is_outside, hops + 1 if page.embedded else 1)

    def _tell_cut(self, response: Response) -> None:
        """Record that the page was cut, so some of its links may be missing."""
        flight = get_in_flight_request(self._crawler, response.request)
        if flight is not None:
            flight.tally.cut += 1
            if (kept := flight.outcome.entry) is not None:
                kept.record.extra["cut"] = len(response.body)

    def _tell_dropped(self, page: Page, flight: InFlightRequest) -> None:
        """Record that not all links of the page were taken."""
        tally = flight.tally
        tally.links_dropped += page.links_dropped
        tally.pages_with_dropped += 1
        if tally.pages_with_dropped == 1:
            logger.warning(
                "%s has more links than are taken of a page: %d were dropped, most likely by LINKS_PER_PAGE_MAX "
                "(%d). Further pages are only noted in the fetch log (links_dropped)",
                page.url,
                page.links_dropped,
                self._context.configuration.links_per_page_max,
            )
        if (kept := flight.outcome.entry) is not None:
            kept.record.extra["links_dropped"] = page.links_dropped

    def _detach_request(self, request: Request, response: Response) -> None:
        """Detach a callback's ordinary Request, which often has a copy of its response's meta: it is a link of its
        own.
        """
        flight = get_in_flight_request(self._crawler, response.request)
        facts = detach(request)
        facts.via = response.url
        facts.lease_id = flight.lease.id if flight is not None else None
        facts.embed_hops = 0
        request.meta.pop("redirect_times", None)
        if response.request is None or request.url != response.request.url:
            # The same URL again is an attempt with a count of its own: Scrapy's get_retry_request.
            request.meta.pop("retry_times", None)

    def _complete(self, page: Page, response: Response) -> RobotsTags:
        """Add the facts of its response to a page; return the directives in the header."""
        assert response.request is not None
        in_header = fetch_meta(response.request).robots_tags
        page.noindex, page.nofollow = in_header | RobotsTags(page.noindex, page.nofollow)
        page.mime = page.mime or response_type(response)
        if page.body_bytes is None:
            page.body_bytes = len(response.body)
        return in_header

    def _page(self, page: Page, flight: InFlightRequest, in_header: RobotsTags) -> None:
        if page.links_dropped:
            self._tell_dropped(page, flight)
        tags = RobotsTags(page.noindex, page.nofollow)
        if (kept := flight.outcome.entry) is not None:
            if tags != in_header:
                kept.record.extra |= tags.facts()
            kept.record.extra["links"] = len(page.links)
            if page.other_links:
                kept.record.extra["other_links"] = len(page.other_links)
            if self._keeps_links:
                kept.links, kept.other_links = page.links, page.other_links
            tell(page, kept, self._keeps_fields)

    async def _follow(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        in_header: RobotsTags,
        beside: Mapping[str, str],
        place: _Place,
    ) -> None:
        """Queue the links of a page unless its author asks not to follow them, and show it to the features."""
        tags = RobotsTags(page.noindex, page.nofollow)
        discovered: list[UrlEntry] = []
        near = _near_duplicate(response) if self._near_fields else None
        if not tags.nofollow and (near is None or near.follows_links):
            discovered = await self._take(page, flight, place)
        elif not tags.nofollow:
            flight.tally.refused(NEAR_DUPLICATE, len(page.links))
        elif page.links:
            rule = HEADER if in_header.nofollow else META
            flight.tally.refused(rule, len(page.links))
        for feature in () if page.embedded else self._features:
            await feature.page(page, response, flight, discovered, beside)

    def _split(self, page: Page, place: _Place, tally: Tally) -> tuple[Sequence[str], Sequence[str]]:
        """Return the links of a page that are followed, and the URLs that it embeds."""
        links = LinkColumns.of(page.links)
        urls, rels = links.values(0), links.values(3)
        avoided = self._avoided
        not_followed = {rel for rel in set(rels) if rel and not avoided.isdisjoint(rel.split())}
        embeds: Sequence[str] = ()
        kinds = links.values(1) if place.embed_hops <= self._intake.embed_hops_max else ()
        if not EMBEDS.isdisjoint(kinds):
            embeds = [url for url, kind in zip(urls, kinds, strict=True) if kind in EMBEDS]
            urls = [
                url
                for url, kind, rel in zip(urls, kinds, rels, strict=True)
                if kind not in EMBEDS and rel not in not_followed
            ]
        elif not_followed:
            urls = [url for url, rel in zip(urls, rels, strict=True) if rel not in not_followed]
        if left := len(links) - len(urls) - len(embeds):
            tally.refused(REL, left)
        if place.is_outside and urls:
            tally.refused(EMBED, len(urls))
            urls = ()
        return urls, embeds

    def _of_other_schemes(self, page: Page, place: _Place, tally: Tally) -> list[str]:
        """Return the links of other schemes than http and https that the crawl fetches."""
        if not page.other_links or self._intake.schemes is WEB or place.is_outside:
            return []
        followed, avoided = self._intake.schemes.followed, self._avoided
        links = [(url, rel) for link, _, _, rel in page.other_links if (url := followed(link)) is not None]
        urls = [url for url, rel in links if not rel or avoided.isdisjoint(rel.split())]
        if len(urls) < len(links):
            tally.refused(REL, len(links) - len(urls))
        return urls

    async def _take(self, page: Page, flight: InFlightRequest, place: _Place) -> list[UrlEntry]:
        """Queue the links of a page; return the new ones."""
        entry, tally = flight.lease.entry, flight.tally
        urls, embeds = self._split(page, place, tally)
        if further := self._of_other_schemes(page, place, tally):
            urls = [*urls, *further]
        if not urls and not embeds:
            return []
        depth_limit = self._context.configuration.depth_limit
        if not depth_limit or entry.depth < depth_limit:
            # As Scrapy's DepthMiddleware, which sees no links.
            self._crawler.stats.max_value("request_depth_max", entry.depth + 1)
        entries: list[UrlEntry] = []
        refusals = tally.refusals
        ends_at = perf_counter() + TURN_SECONDS
        parts = self._intake.in_parts(urls, entry.depth + 1, entry.url, embeds, place.embed_hops)
        for taken in parts:
            self._note(taken, entries, tally)
            if perf_counter() >= ends_at:
                async with self._long_work:
                    for later in parts:
                        self._note(later, entries, tally)
                        await asyncio.sleep(0)
        # Other pages may refuse links while this one waits for the long ones.
        tally.known += max(len(urls) - len(entries) - (tally.refusals - refusals), 0)
        flight.outcome.discovered += entries
        return entries

    @staticmethod
    def _note(taken: TakenLinks, entries: list[UrlEntry], tally: Tally) -> None:
        entries += taken.entries
        for _, rule in taken.refused:
            tally.refused(rule)


def _near_duplicate(response: Response) -> NearDuplicate | None:
    return None if response.request is None else fetch_meta(response.request).near_duplicate
