"""Sitemaps: they are queued from robots.txt, and their URLs are added to the frontier.

A sitemap is a URL of its own kind: queued, leased, polite, subject to robots.txt and scope, in the archive and the
log like a page. This middleware consumes it, and its URLs go to the frontier in batches.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from webcrawl.archive.disk import translated
from webcrawl.archive.listed_links import ListedLinks, link_rows
from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import GIVEN_AT_ONCE, get_in_flight_request
from webcrawl.fetching.decoding import decoded_chunks
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.parsing.offload import TURN_SECONDS
from webcrawl.parsing.sitemap import SitemapReading
from webcrawl.refusal import Refused
from webcrawl.urls.resolve import resolve, resolve_all, resolve_other_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.archive.capture import FetchRecord
    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.fetching.meta import FetchMeta

LATER = -100
"""The level of all sitemaps except the first of a robots.txt or an index: each waits until nothing else is left in
its queue, so that a site with thousands of them is crawled one sitemap at a time.
"""
DEPTH = 1
"""The depth of the URLs in a sitemap: that of a link on a seed."""


def named_in_robots(
    context: CrawlContext, flight: InFlightRequest, sitemaps: Iterable[str], key: str
) -> list[UrlEntry]:
    """Return the entries of the sitemaps that a robots.txt of ``key`` names; those out of scope are counted as
    refused.
    """
    entry = flight.lease.entry
    entries: list[UrlEntry] = []
    for url in resolve_all(list(sitemaps), entry.url):
        queued = None if url is None else context.intake.sitemap_entry(url, key, entry.url)
        if isinstance(queued, str):
            flight.tally.refused(queued)
        elif queued is not None:
            queued.level = LATER if entries else 0
            entries.append(queued)
    return entries


def resolved_all(urls: Sequence[str], base: str) -> list[str]:
    """Return the URLs of a list for the link log, of all schemes."""
    return _together(resolve_all(urls, base), urls, base)


def add_link_counts(record: FetchRecord, number: int, others: int) -> None:
    """Record in the fetch log how many links of a list the link log has."""
    record.extra["links"] = number
    if others:
        record.extra["other_links"] = others


@dataclass(slots=True)
class _SitemapRead:
    """A sitemap that is being read."""

    flight: InFlightRequest
    reading: SitemapReading
    base: str
    sitemaps: int = 0
    """The number of sitemaps that it has listed so far."""
    hints: int = 0
    """The number of pages that are due earlier because of its hints."""
    listed: ListedLinks | None = None
    """All its URLs; None if no sink needs them."""


class SitemapMiddleware:
    """Consumes sitemaps before they reach the spider, and adds their URLs to the frontier."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._context = context = get_context(crawler)
        self._intake = context.intake
        self._urls_max = context.configuration.sitemap_urls_max
        self._nested_max = context.configuration.sitemap_nested_max
        self._max_bytes = context.configuration.sitemap_max_bytes
        self._redirects_max = context.configuration.redirect_max_times
        self._hinting = [feature for feature in context.features if feature.reads_listings]
        self._turn = asyncio.Lock()
        keeps_links = context.archive is not None and context.archive.wants_links
        self._spool = context.spool if keeps_links else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[Any, Any, Response]:
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.lease.entry.kind != Kind.SITEMAP:
            return response
        return self._take(flight, request, response)

    async def _take(self, flight: InFlightRequest, request: Request, response: Response) -> Response:
        flight.tally.sitemaps += 1
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location:
            self._redirected(flight, location.decode("utf-8", "replace"))
        elif 200 <= response.status < 300:
            await self._read(flight, request, response)
        raise Refused("sitemap", "a sitemap, which is passed to the frontier and not to the spider")

    def _redirected(self, flight: InFlightRequest, location: str) -> None:
        """Queue the target as a sitemap too, with all checks of a new URL."""
        entry, outcome = flight.lease.entry, flight.outcome
        target, times = resolve(location, entry.url), entry.redirects + 1
        if target is None or times > self._redirects_max:
            rule = "redirect-target" if target is None else "redirects"
            outcome.result, outcome.rule = Result.FAILED, rule
            return
        outcome.result = Result.REDIRECTED
        self._add_sitemap(flight, target, entry.level, entry.depth, times)

    async def _read(self, flight: InFlightRequest, request: Request, response: Response) -> None:
        """Read it in turns of the event loop, one sitemap at a time; a payload in a file is read on a thread."""
        reading = SitemapReading(response.url, urls_max=self._urls_max, bytes_max=self._max_bytes)
        facts = fetch_meta(request)
        listed = None if self._spool is None else ListedLinks(self._spool)
        visit = _SitemapRead(flight, reading, response.url, listed=listed)
        try:
            await self._read_all(visit, response, facts)
        finally:
            if listed is not None:
                # Removed together with the payload.
                facts.listed = listed.spooled()
        self._write_facts(flight, visit)

    async def _read_all(self, visit: _SitemapRead, response: Response, facts: FetchMeta) -> None:
        reading = visit.reading
        spooled = None if facts.capture is None else facts.capture.spooled
        if spooled is None:
            await self._work(visit, reading.feed(response.body))
        else:
            coding = response.headers.get(b"Content-Encoding") or b""
            chunks = decoded_chunks(spooled.path, coding.decode("latin-1"), self._max_bytes)
            try:
                while not reading.is_over and (chunk := await asyncio.to_thread(next, chunks, b"")):
                    await self._work(visit, reading.feed(chunk))
            finally:
                chunks.close()
        await self._work(visit, reading.finish())
        if visit.listed is not None and visit.listed.has_spilled:
            await self._wait(visit.listed.finish)

    async def _work(self, visit: _SitemapRead, steps: Iterator[None]) -> None:
        is_done = False
        while not is_done:
            async with self._turn:
                ends_at = perf_counter() + TURN_SECONDS
                is_done = True
                for _ in steps:
                    if perf_counter() >= ends_at:
                        is_done = False
                        break
                # So the task with the next turn runs in another turn of the loop.
                await asyncio.sleep(0)
            await self._enter(visit)

    def _write_facts(self, flight: InFlightRequest, visit: _SitemapRead) -> None:
        reading = visit.reading
        broken = reading.error
        if broken is not None and not reading.found:
            flight.outcome.result, flight.outcome.rule = Result.FAILED, "sitemap"
        if flight.outcome.entry is None:
            return
        facts = flight.outcome.entry.record.extra
        facts["urls"] = reading.found
        if (listed := visit.listed) is not None:
            kept = flight.outcome.entry
            add_link_counts(kept.record, listed.number, listed.others)
            kept.listed = listed.spooled()
            kept.links, kept.other_links = link_rows(listed.held())
        if self._hinting:
            facts["hints"] = visit.hints
        if broken is not None:
            facts["broken"] = broken

    async def _enter(self, visit: _SitemapRead) -> None:
        """Add the findings since the last call to the frontier."""
        flight, entry, discovered = visit.flight, visit.flight.lease.entry, visit.flight.outcome.discovered
        pages, sitemaps = visit.reading.take()
        resolved: list[str | None] = []
        if pages:
            resolved = resolve_all([page.url for page in pages], visit.base)
            hints = {url: page.hints for url, page in zip(resolved, pages, strict=True) if url is not None}
            taken = self._intake.take_links(list(hints), DEPTH, entry.url)
            for taken_entry in taken.entries:
                taken_entry.listed = hints[taken_entry.url]
            discovered += taken.entries
            for _, rule in taken.refused:
                flight.tally.refused(rule)
            for feature in self._hinting:
                visit.hints += await feature.listed(entry, hints)
        further = resolve_all([link.url for link in sitemaps], visit.base)
        if visit.listed is not None:
            named = [link.url for link in (*pages, *sitemaps)]
            visit.listed.add(_together([*resolved, *further], named, visit.base))
            if visit.listed.is_full:
                await self._wait(visit.listed.spill)
        if entry.depth < self._nested_max:
            for url in further:
                if url is not None:
                    level = LATER if visit.sitemaps else entry.level
                    visit.sitemaps += self._add_sitemap(flight, url, level, entry.depth + 1)
        if len(discovered) >= GIVEN_AT_ONCE and flight.scheduler.gives_early:
            # Queued before their sitemap is done: after a crash possibly once too often, but never lost.
            self._context.frontier.add_entries(list(discovered))
            discovered.clear()
            await self._context.frontier.drain()

    async def _wait(self, write: Callable[[], None]) -> None:
        """Write on a thread. Raises StorageFull, StorageLost."""
        with translated(Path(self._spool or "")):
            await asyncio.to_thread(write)

    def _add_sitemap(
        self, flight: InFlightRequest, url: str, level: int, depth: int, redirects: int = 0
    ) -> bool:
        entry = flight.lease.entry
        queued = self._intake.sitemap_entry(url, entry.key, entry.url, depth, redirects)
        if isinstance(queued, str):
            flight.tally.refused(queued)
            return False
        queued.level = level
        flight.outcome.discovered.append(queued)
        return True


def _together(resolved: Iterable[str | None], written: Iterable[str], base: str) -> list[str]:
    """Return the resolved URLs, and in place of None the URL of another scheme, if it is one."""
    return [
        link
        for url, text in zip(resolved, written, strict=True)
        if (link := resolve_other_scheme(text, base) if url is None else url) is not None
    ]
