"""Wiring of refusals: responses are recognised, counted and written to the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl import fetch_errors
from webcrawl.crawl.feature import Feature
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.features.refusals.recogniser import ABSENT_STATUSES, Recogniser
from webcrawl.features.refusals.signatures import READ_BYTES, load
from webcrawl.features.refusals.start_pages import StartPages, parked_text
from webcrawl.fetching.decoding import decode
from webcrawl.politeness.refusals import PARKED, SiteRefusal
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.http.headers import Headers

    from webcrawl.crawl.feature import Parts
    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.refusals.recogniser import Header

PARKED_WHY = "the domain is parked"


class RefusalsFeature(Feature):
    """The recogniser of one crawl, and what is done about a refusal."""

    def __init__(self, parts: Parts) -> None:
        self._recogniser = Recogniser(load(parts.configuration.refusals_signatures_file))
        # As Scrapy spells them.
        self._names = {name.title().encode("ascii"): name for name in self._recogniser.fields}
        traps = parts.features.get("traps")
        self._traps = None if traps is None else traps.detector
        names = parts.configuration.refusals_parked_names
        self._start_pages = StartPages(parts.backend.tables, names) if names else None

    def of_response(self, response: Response) -> SiteRefusal | None:
        """Return the refusal of a response as it was received: with a status 2xx by its head alone."""
        status, headers = response.status, response.headers
        if 200 <= status < 300:
            if not self._recogniser.reads_head(status):
                return None
            return self._recogniser.of_head(status, self._fields(headers))
        if status in ABSENT_STATUSES or (status < 400 and b"Location" in headers):
            return None
        body = response.body[:READ_BYTES]
        if coding := headers.get(b"Content-Encoding"):
            body = decode(body, coding.decode("latin-1"), READ_BYTES).body
        return self._recogniser.of_error(status, self._fields(headers), body)

    def of_content(self, response: Response) -> SiteRefusal | None:
        """Return the refusal that the decoded text of a response with status 2xx is."""
        headers = response.headers
        refusal = self._recogniser.of_success(response.status, lambda: self._fields(headers), response.body)
        if refusal is not None and refusal.kind == PARKED and not self._park(response.url, refusal):
            return None
        return refusal

    def _fields(self, headers: Headers) -> Header:
        """Return the fields that a recogniser reads."""
        return {
            self._names[name]: b", ".join(headers.getlist(name)).decode("latin-1")
            for name in self._names.keys() & headers.keys()
        }

    def note(self, flight: InFlightRequest, refusal: SiteRefusal) -> None:
        """Count a refusal, and write it to the log of errors if it ends its URL."""
        entry = flight.lease.entry
        flight.tally.site_refusals[refusal.kind] += 1
        if refusal.is_final:
            named = ", ".join(text for text in (refusal.by, refusal.detail) if text)
            fetch_errors.note(refusal.kind, entry.url, via=entry.via, detail=named)

    def _park(self, url: str, refusal: SiteRefusal) -> bool:
        """Put a parked domain into the quarantine of traps; return False if an operator has released it."""
        if self._traps is None:
            return True
        how = f", with a page of {refusal.by}" if refusal.by else f", with {refusal.detail}"
        return bool(self._traps.park(url, PARKED_WHY + how))

    def start_page_text(self, response: Response) -> bytes | None:
        """Return the digest of the text of a page that may be that of a parked domain; None for other pages."""
        if self._start_pages is None or not response.url.startswith(("http://", "https://")):
            return None
        return parked_text(response.url, get_host(response.url), response.body)

    async def of_start_page(self, text: bytes, flight: InFlightRequest, url: str) -> SiteRefusal | None:
        """Return the refusal of a start page whose text many domains have; see ``start_page_text``."""
        assert self._start_pages is not None
        try:
            if not await self._start_pages.is_common(text, flight.lease.entry.key):
                return None
        except (StorageFull, StorageLost):
            # A parked domain more is fetched.
            return None
        refusal = SiteRefusal(PARKED, detail="the start page of many domains")
        return refusal if self._park(url, refusal) else None


def build(parts: Parts) -> RefusalsFeature:
    """Return the recognition of refusals of a crawl."""
    return RefusalsFeature(parts)
