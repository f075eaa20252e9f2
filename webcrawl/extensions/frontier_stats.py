"""The frontier's figures in Scrapy's statistics, under the names of the components of Scrapy that it replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from webcrawl.crawl.context import get_context
from webcrawl.downloadermiddlewares.stats import StatsMiddleware
from webcrawl.extensions.metrics_reader import Countable, get_frontier
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.fetching.bandwidth import get_bandwidth
from webcrawl.fetching.tls_sessions import get_tls_sessions
from webcrawl.frontier.figures import COUNTERS, ONLY_STATISTICS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.frontier.tally import Tally

SECONDS = 1.0
"""The figures are read at intervals of this length, and when the frontier is closed: a page has a hundred links."""

_BY_RULE = {
    "offsite": "offsite/filtered",
    "robots": "robotstxt/forbidden",
    "length": "urllength/request_ignored_count",
    "depth": "depth/request_ignored_count",
}


def figures(tally: Tally, storage: str) -> Iterator[tuple[str, int]]:
    """Yield the names and values of the statistics. ``storage`` is Scrapy's word for that of the queues."""
    for figure in (*COUNTERS, *ONLY_STATISTICS):
        for name in figure.stats:
            assert figure.tally is not None
            yield name.format(storage=storage), int(figure.tally(tally))
    for rule, name in _BY_RULE.items():
        yield name, tally.refused_by_rule[rule]


class FrontierStats:
    """Sets the statistics while the crawl runs. As in Scrapy, one that is 0 does not appear."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._task = PeriodicTask(SECONDS, self._step)
        self._frontier: Countable | None = None
        self._storage = "memory"

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._frontier = get_frontier(self._crawler)
        if self._frontier is not None:
            self._storage = (
                "disk" if get_context(self._crawler).configuration.storage.is_lasting else "memory"
            )
            self._task.begin()

    def spider_closed(self) -> None:
        self._task.end()

    async def _step(self) -> None:
        self.set()

    def set(self) -> None:
        """Set the statistics to the present figures. The scheduler calls this at its end, so that spiders that are
        closed find the last ones."""
        if (counting := self._crawler.get_downloader_middleware(StatsMiddleware)) is not None:
            counting.flush()
        if (bandwidth := get_bandwidth(self._crawler)).is_on:
            self._crawler.stats.set_value("bandwidth/limit", round(bandwidth.limit))
            self._crawler.stats.set_value("bandwidth/used", round(bandwidth.used))
        if (tls := get_tls_sessions(self._crawler)).connections:
            self._crawler.stats.set_value("tls/connections", tls.connections)
            self._crawler.stats.set_value("tls/resumed", tls.resumed)
        if self._frontier is None:
            return
        for name, number in figures(self._frontier.tally, self._storage):
            if number:
                self._crawler.stats.set_value(name, number)
