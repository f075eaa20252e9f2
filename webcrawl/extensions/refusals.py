"""The first extension: makes a crawl refuse its start before any other is created, so that one place reports it
(``crawl/refused_start.py``), and has its crawler create the engine of this project, in a script too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawl.crawl import essentials
from webcrawl.crawl.context import get_context
from webcrawl.engine.engine import DirectEngine
from webcrawl.scrapy_private import use_engine

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class Refusals:
    """Creates the crawl's context, which is refused with all problems, and sets the engine of its crawler."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        get_context(crawler)
        if not essentials.is_detached(crawler.settings):
            use_engine(crawler, DirectEngine)
        raise NotConfigured  # without a message: there is nothing else to do
