"""The use that pages allow, recorded in a running crawl, and the pages that are withheld for it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from webcrawl.crawl.feature import Feature
from webcrawl.features.usage import content_signal, content_usage, robots_controls, rsl, site_files, tdmrep
from webcrawl.features.usage.site_files import SiteFiles
from webcrawl.features.usage.statements import as_record, is_withheld, resolve
from webcrawl.parsing.html import PageInput, extract
from webcrawl.parsing.mime import HTML_TYPES, document_type, mime_type
from webcrawl.robots.purposes import NO, PURPOSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Headers, Response

    from webcrawl.archive.capture import FetchRecord
    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import Parts
    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.usage.robots_file import RobotsUsage
    from webcrawl.features.usage.statements import Statement
    from webcrawl.fetching.meta import FetchMeta
    from webcrawl.parsing.html import ParsedPage
    from webcrawl.robots.rules import UsageReading

USAGE, SIGNAL = b"Content-Usage", b"Content-Signal"
ROBOTS, NEWER_ROBOTS = b"X-Robots-Tag", b"Robots-Tag"
RESERVATION, POLICY = b"Tdm-Reservation", b"Tdm-Policy"
LINK = b"Link"
_FIELDS = frozenset({USAGE, SIGNAL, ROBOTS, NEWER_ROBOTS, RESERVATION, POLICY, LINK})
"""The fields that are read, in the spelling of Scrapy's headers."""

HEAD_BYTES = 65_536
"""The part of a page in which its elements are looked for that a spider reads itself."""
_WORDS = (b"tdm-", b"robots")

CACHED_MAX = 1_000
"""Bytes of fields whose statements are kept for the next page with the same ones."""
FieldLines = tuple[tuple[bytes, tuple[bytes, ...]], ...]
"""The lines of fields by their names."""

STATEMENTS_MAX = 100
"""Statements of one page that are kept."""


class UsageFeature(Feature):
    """Collects the statements about a page as it comes, and notes them with it."""

    def __init__(self, configuration: Configuration) -> None:
        self._agents = configuration.product_tokens
        self._tokens = configuration.usage_tokens
        self._purposes = configuration.usage_withheld
        self._refuses_unknown = configuration.usage_unknown == "refuse"
        self.withholds = bool(self._purposes)
        """True if the crawl withholds pages at all."""
        tdmrep, licences = configuration.usage_tdmrep, configuration.usage_licenses
        if tdmrep or licences:
            self.site_files = SiteFiles(self._agents, tdmrep=tdmrep, licences=licences)
        # Nearly all pages of a site have the same statements.
        self._recorded = lru_cache(maxsize=4_096)(self._build_record)
        self._fields = lru_cache(maxsize=4_096)(self._read_fields)

    def read_usage(self, text: str, agents: tuple[str, ...], /) -> RobotsUsage | None:
        """Return what a robots.txt and the files beside it say about the use of pages, and the verdicts for
        USAGE_TOKENS."""
        return site_files.read(text, agents, self._tokens)

    def read_response(self, usage: UsageReading | None, url: str, headers: Headers) -> tuple[Statement, ...]:
        """Return what the robots.txt under which a URL was fetched and the header of the response say."""
        statements: tuple[Statement, ...] = () if usage is None else usage.statements(url)
        present = _FIELDS.intersection(headers)
        if not present:
            return statements
        values = tuple([(name, tuple(headers.getlist(name))) for name in present])
        is_image = (headers.get(b"Content-Type") or b"").lower().startswith(b"image/")
        if sum([len(line) for _, found in values for line in found]) > CACHED_MAX:
            of_fields = self._read_fields(values, is_image)
        else:
            of_fields = self._fields(values, is_image)
        return (*statements, *of_fields)[:STATEMENTS_MAX]

    def _read_fields(self, found: FieldLines, is_image: bool) -> tuple[Statement, ...]:
        fields = dict(found)

        def lines(name: bytes) -> list[str]:
            return [line.decode("latin-1") for line in fields.get(name, ())]

        statements: list[Statement] = []
        if values := lines(USAGE):
            statements += content_usage.in_header(values)
        if values := lines(SIGNAL):
            statements += content_signal.in_header(values)
        statements += tdmrep.in_header(lines(RESERVATION), lines(POLICY))
        older, newer = lines(ROBOTS), lines(NEWER_ROBOTS)
        if older or newer:
            statements += robots_controls.in_header(older, newer, self._agents, is_image=is_image)
        if values := lines(LINK):
            statements += rsl.in_links(values)
        return tuple(statements)

    def read_page(self, document: ParsedPage) -> list[Statement]:
        """Return what the elements of a page say."""
        statements = robots_controls.in_meta(document.robots) if document.robots else []
        if any(name.startswith("tdm-") for name, _ in document.metas):
            statements += tdmrep.in_meta(document.metas)
        return statements[:STATEMENTS_MAX]

    def read_body(self, body: bytes, url: str, content_type: bytes | None) -> list[Statement]:
        """Return what the first elements of a body say, if it is a page."""
        head = body[:HEAD_BYTES]
        lower = head.lower()
        if not any(word in lower for word in _WORDS):
            return []
        declared = content_type.decode("latin-1") if content_type else None
        if document_type(mime_type(declared), head) not in HTML_TYPES:
            return []
        return self.read_page(
            extract(PageInput(head, url, declared, links_max=0, types=frozenset(), agents=self._agents))
        )

    def settled(self, flight: InFlightRequest) -> None:
        entry = flight.outcome.entry
        usage = None if entry is None else entry.record.extra.get("usage")
        if entry is None or not isinstance(usage, dict) or entry.record.kind != "page":
            return
        tally = flight.tally
        tally.withheld += entry.record.extra.get("withheld") is True
        for purpose in PURPOSES:
            if usage.get(purpose) == NO:
                tally.disallowed[purpose] += 1

    def complete(self, flight: InFlightRequest | None, facts: FetchMeta, response: Response) -> None:
        """Read what the first elements of a page say that was not parsed, once."""
        if not facts.usage_of_page_read:
            content_type = response.headers.get(b"Content-Type")
            self.add(flight, facts, self.read_body(response.body, response.url, content_type))

    def add(self, flight: InFlightRequest | None, facts: FetchMeta, statements: Sequence[Statement]) -> None:
        """Add what the elements of a page say to what is known of its use."""
        facts.usage_of_page_read = True
        if statements:
            facts.usage = (*facts.usage, *statements)
            kept = None if flight is None else flight.outcome.entry
            facts.withheld = self.note(None if kept is None else kept.record, facts.usage)

    def withholds_response(
        self, flight: InFlightRequest | None, facts: FetchMeta, response: Response
    ) -> bool:
        """Return True if nothing of a response may reach pipelines and feeds. Of a page that was not parsed the first
        elements are read here, if they may say something."""
        if not self.withholds:
            return False
        if not facts.withheld and flight is not None:
            self.complete(flight, facts, response)
        return facts.withheld

    def verdicts(self, statements: tuple[Statement, ...]) -> dict[str, str]:
        """Return the verdicts for a page's item."""
        return resolve(statements) if statements else {}

    def note(self, record: FetchRecord | None, statements: tuple[Statement, ...]) -> bool:
        """Write what is said about a page to its line of the fetch log. Return True if it is withheld."""
        noted, withheld = self._recorded(statements)
        if record is not None:
            record.extra["usage"] = noted
            if withheld:
                record.extra["withheld"] = True
            else:
                record.extra.pop("withheld", None)
        return withheld

    def _build_record(self, statements: tuple[Statement, ...]) -> tuple[dict[str, Any], bool]:
        noted = as_record(statements)
        return noted, is_withheld(noted, self._purposes, refuses_unknown=self._refuses_unknown)


def build(parts: Parts) -> UsageFeature:
    """Return the feature for a crawl."""
    return UsageFeature(parts.configuration)
