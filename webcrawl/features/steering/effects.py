"""The effects of changed settings on the objects of a crawl that runs: one function for each kind of object."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.extensions.closespider import CloseSpider
from scrapy.utils.defer import deferred_from_coro

from webcrawl.crawl.context import ScopesOfIntake, build_scopes, frontier_limits
from webcrawl.crawl.rules import CrawlRules, build_hours, build_politeness
from webcrawl.features.steering.live_settings import LIVE
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.network import seed_addresses
from webcrawl.logs import set_level
from webcrawl.politeness.health import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.steering.live_settings import Values

_CLOSING = {
    "CLOSESPIDER_PAGECOUNT": "pagecount",
    "CLOSESPIDER_ITEMCOUNT": "itemcount",
    "CLOSESPIDER_ERRORCOUNT": "errorcount",
    "CLOSESPIDER_TIMEOUT": "timeout",
}
"""The settings of Scrapy's extension CloseSpider, with its names of the limits."""


_HOURS = frozenset({"POLITENESS_HOURS", "POLITENESS_HOURS_FILE"})
"""Read anew only if one of them is set: the file may have gone since."""


class Effects:
    """Applies the values of settings to one crawl."""

    def __init__(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context = context
        self._scheduler = scheduler
        self._crawler: Crawler = scheduler.crawler
        self._closing = ClosingLimits(self._crawler)

    def apply(self, values: Values, names: Collection[str], delays: Mapping[str, float]) -> None:
        """Apply the settings ``names``; ``values`` has those of all settings. ``delays``: minimum delays of
        politeness keys, in seconds.

        :raises ValueError: a file of rules, or of hours, is wrong; nothing was changed
        """
        changed = {LIVE[name].group for name in names}
        hours = self._context.policies.hours
        if _HOURS & set(names):
            hours = build_hours(values.configuration, self._context.key)
        if "scope" in changed:
            self._change_scope(values)
        self._context.policies = replace(self._context.policies, hours=hours)
        self._context.configuration = values.configuration
        self.change_frontier(values, delays)
        if "concurrency" in changed:
            requests = values.configuration.concurrent_requests
            self._crawler.engine.downloader.total_concurrency = requests
            get_body_memory(self._crawler).divide(requests)
        if "bandwidth" in changed:
            self._context.bandwidth.set_limit(values.configuration.bandwidth_max)
        if "log" in changed:
            level = str(values.of("LOG_LEVEL"))
            set_level(int(level) if level.isdigit() else level)
        for name in _CLOSING.keys() & set(names):
            self._closing.set(_CLOSING[name], float(values.of(name)))
        self._scheduler.wake()

    def change_frontier(self, values: Values, delays: Mapping[str, float]) -> None:
        """Apply the delays, the limits of hosts and the number of open requests. The minimum delay of a host is the
        longest that any source names."""
        context, configuration = self._context, values.configuration
        context.policies = replace(
            context.policies,
            politeness=build_politeness(configuration, context.key).raised(delays),
            health=configuration.build(Health, "health_"),
            requests_per_key_max=configuration.requests_per_key_max,
            page_budget=configuration.page_budget,
        )
        self._context.frontier.change_policies(context.policies, frontier_limits(configuration))

    def _change_scope(self, values: Values) -> None:
        context, configuration = self._context, values.configuration
        scopes = build_scopes(
            configuration,
            CrawlRules(configuration),
            SimpleNamespace(**values.arguments),
            seed_addresses(self._crawler).rule,
            context.seeded.ports,
            context.exclusions,
            context.intake.schemes,
        )
        applied = ScopesOfIntake.of(scopes, context.features)
        context.intake.change_scope(
            applied.followed, applied.fixed, requested=applied.requested, standing=applied.standing
        )


class ClosingLimits:
    """Limits at which the crawl stops that were changed while it runs, in place of those of Scrapy's extension
    CloseSpider, which reads them once. They count this process since its start, as that does.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._limits: dict[str, float] = {}
        self._began_at = asyncio.get_running_loop().time()
        self._timer: asyncio.TimerHandle | None = None
        self._errors = 0
        # No statistic counts what CLOSESPIDER_ERRORCOUNT does.
        crawler.signals.connect(self._count_error, signal=signals.spider_error)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    def set(self, name: str, limit: float) -> None:
        """Set a limit; 0 for none. The crawl stops at once if it has reached it."""
        theirs = self._crawler.get_extension(CloseSpider)
        if theirs is not None:
            # Never equal to a count.
            theirs.close_on[name] = 0
            if name == "timeout" and theirs.task is not None:
                theirs.task.cancel()
                theirs.task = None
        if not self._limits:
            self._crawler.signals.connect(self._check, signal=signals.response_received)
            self._crawler.signals.connect(self._check, signal=signals.item_scraped)
        self._limits[name] = limit
        if name == "timeout":
            self._set_timer(limit)
        self._check()

    def _set_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._began_at + seconds, self._close, "timeout")

    def _count_error(self) -> None:
        self._errors += 1
        self._check()

    def _check(self) -> None:
        stats = self._crawler.stats
        counts = {
            "pagecount": stats.get_value("response_received_count", 0),
            "itemcount": stats.get_value("item_scraped_count", 0),
            "errorcount": self._errors,
        }
        for name, count in counts.items():
            if (limit := self._limits.get(name)) and count >= limit:
                self._close(name)
                return

    def _close(self, name: str) -> None:
        if not getattr(self._crawler.engine, "is_closing", False):
            deferred_from_coro(self._crawler.engine.close_spider_async(reason=f"closespider_{name}"))

    def _closed(self, spider: Spider) -> None:
        if self._timer is not None:
            self._timer.cancel()
