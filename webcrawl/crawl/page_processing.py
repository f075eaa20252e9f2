"""The processing of pages in a crawl: from a Page item and its response to fields, links, notes and figures."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from webcrawl import fetch_errors
from webcrawl.config.setting import MIB
from webcrawl.fetching.meta import fetch_meta
from webcrawl.parsing.mime import HTML_TYPES, document_type, mime_type
from webcrawl.processing import text_digest, text_sketch
from webcrawl.processing.chain import Chain
from webcrawl.processing.contract import Content, load
from webcrawl.processing.pool import Pool, PoolOptions, ProcessingBroken
from webcrawl.processing.text_digest import TextDigests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Request, Response

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.config import Configuration
    from webcrawl.fetching.meta import FetchMeta
    from webcrawl.items import Page

WORD = "processing"
"""The error word in errors.log of a page for which a module failed."""


def build_processing(configuration: Configuration) -> tuple[Chain | None, TextDigests | None]:
    """Return the modules of the setting PROCESSING_MODULES, None if it is empty, and what digests and sketches main
    text, None if no other setting needs it. Both use the same processes."""
    modules, links_max = configuration.processing_modules, configuration.links_per_page_max
    revisits = configuration.crawl_mode == "continuous"
    marks = []
    by_text = configuration.dust_learn and configuration.dust_equality == "text"
    if (
        by_text
        or configuration.content_seen == "text"
        or (revisits and configuration.revisit_change == "text")
    ):
        marks.append(text_digest.PATH)
    if by_text or configuration.near_duplicates:
        marks.append(text_sketch.PATH)
    pool = Pool(
        PoolOptions(
            (*modules, *marks),
            configuration.processing_processes,
            configuration.processing_timeout,
            configuration.processing_memory_bytes,
            links_max,
            configuration.child_memory_mib * MIB,
        )
    )
    chain = Chain([load(path) for path in modules], pool, links_max=links_max) if modules else None
    return chain, TextDigests(pool, marks) if marks else None


def response_type(response: Response) -> str | None:
    """Return the MIME type as which a response is to be read."""
    content_type = response.headers.get("Content-Type")
    return document_type(mime_type(content_type.decode("latin-1") if content_type else None), response.body)


BROKEN = "processing_broken"
"""The close reason of a crawl whose modules cannot be started."""

logger = logging.getLogger(__name__)


class PageProcessing:
    """Has the pages of one crawl processed, and ends with it."""

    def __init__(self, crawler: Crawler, chain: Chain) -> None:
        self._crawler = crawler
        self._chain = chain
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    def applies(self, page: Page) -> bool:
        """Return True if there is anything to find. Of a page that is kept out of stores and feeds only links are
        needed, and those of HTML are known."""
        if page.duplicate_of is not None or not self._chain.wants(page.mime):
            return False
        return not (page.noindex or page.withheld) or (page.mime not in HTML_TYPES and not page.nofollow)

    def begin(self, page: Page) -> None:
        """Set the fields that a page may have, so that all pages have the same columns."""
        page.schema = self._chain.schema

    async def process(self, page: Page, response: Response) -> None:
        """Add the results of the modules. A failure of a module is noted, and is no error of the crawl."""
        try:
            findings = await self._chain.process(_content(page, response))
        except ProcessingBroken as error:
            # Not caused by the page; the next pages would be without their fields as this one is.
            _stop(self._crawler, error)
            return
        page.document = None
        page.links += findings.links
        page.other_links += findings.other_links
        if not (page.noindex or page.withheld):
            page.fields |= findings.fields
            page.title = page.title or findings.title
        for name, why in findings.problems:
            fetch_errors.note(WORD, page.url, via=page.via, detail=f"{name}: {why}")
            page.error = page.error or f"{name}: {why}"
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value(f"processing/failed/{name}")

    def _closed(self) -> None:
        if self._chain.replaced and self._crawler.stats is not None:
            self._crawler.stats.set_value("processing/processes_replaced", self._chain.replaced)
        self._chain.close()


class PageTexts:
    """Has the main text of the pages of one crawl digested and sketched, and ends with it."""

    def __init__(self, crawler: Crawler, texts: TextDigests) -> None:
        self._crawler = crawler
        self._texts = texts
        crawler.signals.connect(texts.close, signal=signals.spider_closed, weak=False)

    async def digest(self, request: Request, response: Response) -> bytes:
        """Return the digest of a response's main text, empty if it has none."""
        facts = fetch_meta(request)
        if facts.text_digest is None:
            await self._read(facts, response)
        return facts.text_digest or b""

    async def sketch(self, request: Request, response: Response) -> bytes:
        """Return the sketch of a response's main text, empty if that is short."""
        facts = fetch_meta(request)
        if facts.text_sketch is None:
            await self._read(facts, response)
        return facts.text_sketch or b""

    async def _read(self, facts: FetchMeta, response: Response) -> None:
        """Read a page, once for all that is wanted of its text."""
        declared = response.headers.get("Content-Type")
        headers = {"content-type": declared.decode("latin-1")} if declared else {}
        content = Content(
            response.url, response.status, response_type(response) or "", None, headers, response.body
        )
        try:
            facts.text_digest, facts.text_sketch = await self._texts.of(content)
        except ProcessingBroken as error:
            _stop(self._crawler, error)


_stopping: WeakSet[Crawler] = WeakSet()


def _stop(crawler: Crawler, error: ProcessingBroken) -> None:
    if crawler in _stopping or crawler.engine is None or crawler.engine.spider is None:
        return
    _stopping.add(crawler)
    logger.critical("The crawl stops: %s", error)
    deferred_from_coro(crawler.engine.close_spider_async(reason=BROKEN))


def tell(page: Page, entry: ArchiveEntry, keeps_fields: bool) -> None:
    """Write the language of a page to the log, and give all results to the stores, if they want them."""
    if page.noindex or page.withheld or page.duplicate_of is not None:
        return
    if language := page.fields.get("language"):
        entry.record.extra["language"] = str(language)
    if keeps_fields:
        entry.fields = {"title": page.title, **page.fields} if page.title else page.fields


class _HeaderFields(Mapping[str, str]):
    """The headers of a response for modules, converted on access: few are used."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        values = self._headers.getlist(name)
        if not values:
            raise KeyError(name)
        return b", ".join(values).decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1").lower() for name in self._headers)

    def __len__(self) -> int:
        return len(self._headers)


def _content(page: Page, response: Response) -> Content:
    return Content(
        page.url,
        page.status,
        page.mime or "",
        page.encoding,
        _HeaderFields(response.headers),
        response.body,
        page.truncated,
        page.document,
    )
