"""Has a crawl refused before any other extension is made: one place tells of it (``crawl/refused_start.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import context_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class Refusals:
    """Has the machine made, which is refused with all that is wrong."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        context_of(crawler)
        raise NotConfigured  # without a word: there is nothing else to do
