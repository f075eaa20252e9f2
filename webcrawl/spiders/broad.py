"""The broad crawl: from seeds to all reachable pages, one batch of links per page."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.http import Response

from webcrawl.config.setting import MIB
from webcrawl.crawl.context import context_of
from webcrawl.crawl.refused_start import REFUSALS, closing
from webcrawl.crawl.seeding import Seeding
from webcrawl.items import Page
from webcrawl.meta import fetch_meta
from webcrawl.parsing.charset import encoding_of
from webcrawl.parsing.css import CSS, is_style_sheet
from webcrawl.parsing.html import PageInput, found_links
from webcrawl.parsing.links import IN_STYLES
from webcrawl.parsing.listing import identifies_files
from webcrawl.parsing.mime import DIRECTORY_TYPES, FTP_LISTING, HTML_TYPES, document_type, mime_type
from webcrawl.parsing.process import Readers
from webcrawl.robots import page_directives
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.meta import FetchMeta


class BroadSpider(Spider):
    """``-a seeds=FILE|URL[,URL...]|-``, ``-a allow=REGEX``, ``-a domains=FILE|NAME[,NAME...]``, ``-a focus=WHAT``,
    ``-a mode=once|continuous``, ``-a stay=domain|host``; or ``-a segment=FILE``."""

    name = "broad"
    makes_requests = False
    """It follows links, and makes no Requests with errbacks."""
    follows_sitemaps = True
    """Its callback expects the pages of sitemaps, which it did not request."""
    # The fast path needs none of Scrapy's: each wraps the output of every page in a generator of its own. The meaning
    # of a status is decided below; depth and via are stored in the frontier's entries.
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "CONCURRENT_ITEMS": 1,  # one item per page; Scrapy starts so many tasks for it
        "SPIDER_MIDDLEWARES": {
            "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
            "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
            "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
            "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
            "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
        },
    }

    def __init__(
        self,
        seeds: str | None = None,
        allow: str | None = None,
        domains: str | None = None,
        focus: str | None = None,
        mode: str | None = None,
        segment: str | None = None,
        stay: str | None = None,
        **notes: str,
    ) -> None:
        """``notes``: what a scheduler of jobs notes, such as scrapyd its ``_job``; all begin with ``_``."""
        if wrong := [name for name in notes if not name.startswith("_")]:
            raise TypeError(f"{', '.join(wrong)}: no argument of the spider {self.name}")
        super().__init__(**notes)
        self.seeds = seeds
        self.allow = allow
        self.domains = domains
        self.focus = focus
        self.mode = mode
        self.segment = segment
        self.stay = stay

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._closed, signal=signals.spider_closed)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        scheduler: object = self.crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            try:
                await self._queue_seeds(scheduler)
            except REFUSALS as error:
                raise closing(self.crawler, error) from error
        for nothing in list[Any]():  # an asynchronous generator, as Scrapy requires
            yield nothing

    async def _queue_seeds(self, scheduler: Scheduler) -> None:
        context = context_of(self.crawler)
        if (segment := context.features.get("segments")) is not None:
            await segment.queue_all(context, scheduler)
        else:
            await Seeding(context, scheduler, self.seeds, self.domains).run()

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Page]:
        content_type = response.headers.get("Content-Type")
        declared = content_type.decode("latin-1") if content_type else None
        if not 200 <= response.status < 300:
            return
        assert response.request is not None
        facts = fetch_meta(response.request)
        context = context_of(self.crawler)
        configuration = context.configuration
        mime = document_type(mime_type(declared), response.body)
        if is_style_sheet(mime) and IN_STYLES in configuration.link_types:
            yield await self._style_sheet(response, declared, facts)
            return
        if mime not in HTML_TYPES and not (mime in DIRECTORY_TYPES and not response.url.startswith("http")):
            chain = None if facts.original is not None else context.processing
            if facts.found or (chain is not None and chain.wants(mime)):
                yield self._other(response, mime, facts)
            return
        if facts.original is not None and not self._follows(response, mime, facts):
            yield self._duplicate(response, declared, facts)
            return
        document = await self._readers.extract(self._input(response, declared))
        tags = page_directives.NOTHING
        if document.robots and configuration.robots_meta_obey:
            tags = page_directives.of_meta(document.robots, context.clock())
        yield Page(
            url=response.url,
            status=response.status,
            title=document.title,
            depth=facts.depth,
            via=facts.via,
            encoding=document.encoding,
            truncated="truncated" in response.flags,
            error=document.error or facts.decode_error,
            links=document.links,
            other_links=document.other_links,
            links_dropped=document.links_dropped,
            noindex=tags.noindex,
            nofollow=tags.nofollow,
            duplicate_of=facts.original,
            mime=mime,
            document=document,
        )

    def _input(self, response: Response, declared: str | None) -> PageInput:
        context = context_of(self.crawler)
        configuration = context.configuration
        return PageInput(
            response.body,
            response.url,
            declared,
            links_max=configuration.links_per_page_max,
            types=frozenset(configuration.link_types),
            agents=context.rules.agents,
            surroundings="focus" in context.features,
        )

    async def _style_sheet(self, response: Response, declared: str | None, facts: FetchMeta) -> Page:
        """Return the page of a style sheet, which is for its links alone unless processing finds fields in it."""
        page = self._other(response, CSS, facts)
        document = await self._readers.extract(self._input(response, declared))
        page.links, page.links_dropped = document.links, document.links_dropped
        processing = context_of(self.crawler).processing
        page.embedded = processing is None or not processing.wants(CSS)
        return page

    def _follows(self, response: Response, mime: str | None, facts: FetchMeta) -> bool:
        """Return whether the links of a page are followed that came before under another URL."""
        if mime == FTP_LISTING and identifies_files(response.body):
            # The same directory by another path. The symbolic link that leads to it may lead to it again and again.
            return False
        # Imported only if the content-seen test is on.
        from webcrawl.features.content_seen.content_seen import follows

        assert facts.original is not None
        choice = context_of(self.crawler).configuration.content_seen_links
        return follows(choice, response.url, facts.original, facts.original_by_text)

    @staticmethod
    def _other(response: Response, mime: str | None, facts: FetchMeta) -> Page:
        """Return the page of a document that is not HTML; processing extracts its fields."""
        links, other_links = found_links(facts.found, response.url)
        return Page(
            url=response.url,
            status=response.status,
            depth=facts.depth,
            via=facts.via,
            truncated="truncated" in response.flags,
            error=facts.decode_error,
            mime=mime,
            links=links,
            other_links=other_links,
        )

    @staticmethod
    def _duplicate(response: Response, declared: str | None, facts: FetchMeta) -> Page:
        """Return the page of a body that was read before, without its links: its repetition is the only new fact."""
        return Page(
            url=response.url,
            status=response.status,
            depth=facts.depth,
            via=facts.via,
            encoding=encoding_of(response.body, declared),
            duplicate_of=facts.original,
        )

    def pages_in_parsers(self) -> int:
        """Return the number of pages that wait for another process to parse them, or are being parsed there."""
        # It is made for the first page.
        readers: Readers | None = self.__dict__.get("_readers")
        return 0 if readers is None else readers.busy()

    @cached_property
    def _readers(self) -> Readers:
        # Only when there is a page: the context's scope depends on this spider's arguments.
        configuration = context_of(self.crawler).configuration
        return Readers(configuration.extraction_processes, memory_bytes=configuration.child_memory_mib * MIB)

    def _closed(self) -> None:
        self._readers.close()
