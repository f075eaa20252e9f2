"""Makes a crawl refuse its start before any other extension is created: one place reports it
(``crawl/refused_start.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import context_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


class Refusals:
    """Creates the crawl's context, which is refused with all problems."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        context_of(crawler)
        raise NotConfigured  # without a message: there is nothing else to do
