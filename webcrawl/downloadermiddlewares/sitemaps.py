"""Sitemaps: from robots.txt into the frontier, and what they list from there.

A sitemap is a URL of a kind of its own: queued, leased, polite, under robots.txt and scope, in the archive and the
log like a page. It ends here, and its URLs go to the frontier in batches.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from webcrawl.core import header_fields
from webcrawl.documents.decoding import decoded_chunks
from webcrawl.documents.offload import TURN_SECONDS
from webcrawl.documents.sitemap import SitemapReading
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.machine import machine_of
from webcrawl.meta import fetch_meta
from webcrawl.refusal import Refused
from webcrawl.scheduler import GIVEN_AT_ONCE, flight_of
from webcrawl.urls.resolve import resolve, resolve_all

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.machine import Machine
    from webcrawl.scheduler import Flight

LATER = -100
"""The level of all sitemaps but the first that a robots.txt or an index names: each waits until nothing else is left
in its queue, so that a site with thousands of them fills it with one at a time."""
DEPTH = 1
"""The depth of what a sitemap lists: that of a link on a seed."""


def named_in_robots(machine: Machine, flight: Flight, sitemaps: Iterable[str], key: str) -> list[UrlEntry]:
    """The entries of the sitemaps that a robots.txt of ``key`` names; those out of scope are counted as refused."""
    entry = flight.lease.entry
    found: list[UrlEntry] = []
    for url in resolve_all(list(sitemaps), entry.url):
        given = None if url is None else machine.intake.sitemap(url, key, entry.url)
        if isinstance(given, str):
            flight.scheduler.frontier.tally.refused(given)
        elif given is not None:
            given.level = LATER if found else 0
            found.append(given)
    return found


@dataclass(slots=True)
class _Visit:
    """A sitemap that is being read."""

    flight: Flight
    reading: SitemapReading
    base: str
    sitemaps: int = 0
    """Sitemaps that it has given so far."""
    hints: int = 0
    """Pages that are due earlier for what it says of them."""


class SitemapMiddleware:
    """Keeps sitemaps from the spider and gives their URLs to the frontier."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        machine = machine_of(crawler)
        self._intake = machine.intake
        self._urls_max = machine.configuration.sitemap_urls_max
        self._nested_max = machine.configuration.sitemap_nested_max
        self._max_bytes = machine.configuration.sitemap_max_bytes
        self._redirects_max = machine.configuration.redirect_max_times
        self._hinting = machine.hinting
        self._turn = asyncio.Lock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SitemapMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[Any, Any, Response]:
        flight = flight_of(self._crawler, request)
        if flight is None or flight.lease.entry.kind != Kind.SITEMAP:
            return response
        return self._take(flight, request, response)

    async def _take(self, flight: Flight, request: Request, response: Response) -> Response:
        flight.scheduler.frontier.tally.sitemaps += 1
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location:
            self._redirected(flight, location.decode("utf-8", "replace"))
        elif 200 <= response.status < 300:
            await self._read(flight, request, response)
        raise Refused("sitemap", "a list for the frontier, not for the spider")

    def _redirected(self, flight: Flight, location: str) -> None:
        """The target is a sitemap too, with all that was asked of the first one asked again."""
        entry, outcome = flight.lease.entry, flight.outcome
        target, times = resolve(location, entry.url), entry.redirects + 1
        if target is None or times > self._redirects_max:
            rule = "redirect-target" if target is None else "redirects"
            outcome.result, outcome.rule = Result.FAILED, rule
            return
        outcome.result = Result.REDIRECTED
        self._add_sitemap(flight, target, entry.level, entry.depth, times)

    async def _read(self, flight: Flight, request: Request, response: Response) -> None:
        """In turns of the event loop, one sitemap at a turn; what lies in a file is read on a thread."""
        reading = SitemapReading(response.url, urls_max=self._urls_max, bytes_max=self._max_bytes)
        visit = _Visit(flight, reading, response.url)
        facts = fetch_meta(request)
        spooled = None if facts.capture is None else facts.capture.spooled
        if spooled is None:
            await self._work(visit, reading.feed(response.body))
        else:
            coding = header_fields.last(response.headers, b"Content-Encoding") or b""
            chunks = decoded_chunks(spooled.path, coding.decode("latin-1"), self._max_bytes)
            try:
                while not reading.is_over and (chunk := await asyncio.to_thread(next, chunks, b"")):
                    await self._work(visit, reading.feed(chunk))
            finally:
                chunks.close()
        await self._work(visit, reading.finish())
        self._tell(flight, visit)

    async def _work(self, visit: _Visit, steps: Iterator[None]) -> None:
        is_done = False
        while not is_done:
            async with self._turn:
                ends_at = perf_counter() + TURN_SECONDS
                is_done = True
                for _ in steps:
                    if perf_counter() >= ends_at:
                        is_done = False
                        break
                # So that whoever has the next turn has it in another turn of the loop.
                await asyncio.sleep(0)
            await self._enter(visit)

    def _tell(self, flight: Flight, visit: _Visit) -> None:
        reading = visit.reading
        broken = reading.error
        if broken is not None and not reading.found:
            flight.outcome.result, flight.outcome.rule = Result.FAILED, "sitemap"
        if flight.outcome.entry is None:
            return
        facts = flight.outcome.entry.record.extra
        facts["urls"] = reading.found
        if self._hinting is not None:
            facts["hints"] = visit.hints
        if broken is not None:
            facts["broken"] = broken

    async def _enter(self, visit: _Visit) -> None:
        """Give what was found since the last time to the frontier."""
        flight, entry, found = visit.flight, visit.flight.lease.entry, visit.flight.outcome.discovered
        pages, sitemaps = visit.reading.take()
        if pages:
            resolved = resolve_all([page.url for page in pages], visit.base)
            told = {url: page.told for url, page in zip(resolved, pages, strict=True) if url is not None}
            taken = self._intake.links(list(told), DEPTH, entry.url)
            for one in taken.entries:
                one.listed = told[one.url]
            found += taken.entries
            for _, rule in taken.refused:
                flight.scheduler.frontier.tally.refused(rule)
            if self._hinting is not None:
                visit.hints += await self._hinting.listed(entry, told)
        if entry.depth < self._nested_max:
            for url in resolve_all([one.url for one in sitemaps], visit.base):
                if url is not None:
                    level = LATER if visit.sitemaps else entry.level
                    visit.sitemaps += self._add_sitemap(flight, url, level, entry.depth + 1)
        if len(found) >= GIVEN_AT_ONCE and flight.scheduler.gives_early:
            # Queued before their sitemap is done: once too often after a crash, never lost.
            flight.scheduler.frontier.add(list(found))
            found.clear()
            await flight.scheduler.frontier.drain()

    def _add_sitemap(self, flight: Flight, url: str, level: int, depth: int, redirects: int = 0) -> bool:
        entry = flight.lease.entry
        given = self._intake.sitemap(url, entry.key, entry.url, depth, redirects)
        if isinstance(given, str):
            flight.scheduler.frontier.tally.refused(given)
            return False
        given.level = level
        flight.outcome.discovered.append(given)
        return True
