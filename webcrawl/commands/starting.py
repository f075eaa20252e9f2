"""A crawler that can be turned away at the door: a start that is refused is an answer, not a traceback.

Scrapy's engine closes a spider that could not be opened as if it had been open, and logs what fails on the
way. Here the engine forgets the spider that the scheduler refused, so that there is nothing to close and
nothing to log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider

from webcrawl.archive.errors import ArchiveError
from webcrawl.core.engine import DirectEngine
from webcrawl.errors import ConfigurationError, CrawlError
from webcrawl.extensions.summary import START_REFUSED
from webcrawl.scope.allow import PatternError
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.whitelist import WhitelistError
from webcrawl.urls.seeds import SeedsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

REFUSALS = (
    CrawlError,
    ArchiveError,
    SeedsError,
    WhitelistError,
    PatternError,
    ExclusionError,
)
"""Exceptions that say in one line why a crawl does not start."""


class RefusableCrawler(Crawler):
    """A crawler with such an engine. ``refusal`` is why it did not start, if it did not."""

    refusal: Exception | None = None

    def _create_engine(self) -> RefusableEngine:
        return RefusableEngine(self, lambda _: self.stop_async())


class RefusableEngine(DirectEngine):
    """An engine that lets go of a spider whose start was refused. Uses ``_slot`` and ``_start`` of
    Scrapy's.
    """

    async def open_spider_async(self, *, close_if_idle: bool = True) -> None:
        try:
            await super().open_spider_async(close_if_idle=close_if_idle)
        except REFUSALS:
            self._slot = None
            self.spider = None
            raise
        if self._start is not None:
            self._start = self._watched(self._start)

    async def _watched(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The spider's start; what it refuses ends the crawl without a traceback."""
        try:
            async for output in start:
                yield output
        except REFUSALS as error:
            if isinstance(self.crawler, RefusableCrawler):
                self.crawler.refusal = error
            raise CloseSpider(START_REFUSED) from error


def reasons(error: BaseException) -> Iterator[str]:
    """The lines in which a refusal says what is wrong."""
    if isinstance(error, ConfigurationError):
        yield from (str(problem) for problem in error.problems)
    else:
        yield " ".join(str(error).split())
