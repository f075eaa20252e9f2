"""Makes a page of a response of the broad crawl: its links, and what the page says of itself."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from webcrawl.config.setting import MIB
from webcrawl.crawl.context import get_context
from webcrawl.fetching.meta import fetch_meta
from webcrawl.items import Page
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.css import CSS, is_style_sheet
from webcrawl.parsing.html import PageInput, found_links
from webcrawl.parsing.links import IN_STYLES
from webcrawl.parsing.listing import identifies_files
from webcrawl.parsing.mime import DIRECTORY_TYPES, FTP_LISTING, HTML_TYPES, document_type, mime_type
from webcrawl.parsing.process import ReaderProcesses
from webcrawl.robots import page_directives

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.fetching.meta import FetchMeta


class PageReading:
    """Reads the pages of one crawl, in the event loop or in processes beside it."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    def busy(self) -> int:
        """Return the number of pages that wait for another process to parse them, or are being parsed there."""
        # It is made for the first page.
        readers: ReaderProcesses | None = self.__dict__.get("_readers")
        return 0 if readers is None else readers.busy()

    def close(self) -> None:
        if "_readers" in self.__dict__:
            self._readers.close()

    @cached_property
    def _readers(self) -> ReaderProcesses:
        # Only when there is a page: the context's scope depends on the spider's arguments.
        configuration = get_context(self.crawler).configuration
        return ReaderProcesses(
            configuration.extraction_processes, memory_bytes=configuration.child_memory_mib * MIB
        )

    async def read_page(self, response: Response) -> Page | None:
        """Return the page of a response; None if it has none that is of use."""
        content_type = response.headers.get("Content-Type")
        declared = content_type.decode("latin-1") if content_type else None
        if not 200 <= response.status < 300:
            return None
        assert response.request is not None
        facts = fetch_meta(response.request)
        context = get_context(self.crawler)
        configuration = context.configuration
        mime = document_type(mime_type(declared), response.body)
        if is_style_sheet(mime) and IN_STYLES in configuration.link_types:
            return await self._style_sheet(response, declared, facts)
        if mime not in HTML_TYPES and not (mime in DIRECTORY_TYPES and not response.url.startswith("http")):
            chain = None if facts.original is not None else context.processing
            if facts.found or (chain is not None and chain.wants(mime)):
                return self._other(response, mime, facts)
            return None
        if facts.original is not None and not self._follows(response, mime, facts):
            return self._duplicate(response, declared, facts)
        document = await self._readers.extract(self._input(response, declared))
        tags = page_directives.NOTHING
        if document.robots and configuration.robots_meta_obey:
            tags = page_directives.of_meta(document.robots, context.clock())
        return Page(
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
        context = get_context(self.crawler)
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
        processing = get_context(self.crawler).processing
        page.embedded = processing is None or not processing.wants(CSS)
        return page

    @staticmethod
    def _follows(response: Response, mime: str | None, facts: FetchMeta) -> bool:
        """Return whether the links of a page are followed that came before under another URL."""
        if mime == FTP_LISTING and identifies_files(response.body):
            # The same directory by another path. The symbolic link that leads to it may lead to it again and again.
            return False
        return facts.follows_links

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
            encoding=detect_encoding(response.body, declared),
            duplicate_of=facts.original,
        )
