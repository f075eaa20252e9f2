"""Feeder of pushed URLs: moves them from the list in Redis to the frontier, and sets invalid entries aside."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import signals
from scrapy.http import Request
from scrapy_redis.spiders import RedisMixin

from webcrawl.crawl import request_codec
from webcrawl.frontier.records import UrlEntry
from webcrawl.urls.lists import printable
from webcrawl.urls.resolve import resolve
from webcrawl.urls.seeds import Pushed, read_pushed

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.storage.shared_parts import StartList

logger = logging.getLogger(__name__)

WRONG_SHOWN = 20
"""Maximum number of invalid entries named in the log."""
WRONG_CUT = 4000
"""Maximum number of characters of an invalid entry that are kept."""


class PushedUrls(NamedTuple):
    """Result of one read of the list."""

    entries: int
    """Number of entries read."""
    with_others: int
    """Number of entries that other processes have taken and not yet queued."""


@dataclass(frozen=True, slots=True)
class StartUrlOptions:
    """Options for reading a list."""

    key: str
    at_once: int
    """Number of entries taken together."""
    encoding: str
    max_idle_seconds: float | None
    """Time that a crawl with nothing left waits for more; 0 for ever, None not at all."""
    make: Callable[[bytes], Any] | None
    """The spider's own function that makes Requests of an entry, if it has one."""


class PushedUrlFeed:
    """Queues pushed URLs. An entry is removed from the list for good when its URL is durably queued."""

    def __init__(
        self,
        urls: StartList,
        context: CrawlContext,
        scheduler: RunningCrawl,
        spider: Spider,
        options: StartUrlOptions,
    ) -> None:
        self._list = urls
        self._context = context
        self._scheduler = scheduler
        self._spider = spider
        self._options = options
        self.busy = False
        """True if entries were taken that are not yet queued."""
        self.taken = 0
        self.wrong = 0

    async def feed(self) -> PushedUrls:
        """Take and queue entries, up to ``at_once``. :raises StorageLost: the key is no list."""
        frontier = self._context.frontier
        taken = await frontier.with_retry(lambda: self._list.take(self._options.at_once))
        if taken.entries:
            self.busy = True
            try:
                await self._enter(taken.entries)
            finally:
                self.busy = False
        return PushedUrls(len(taken.entries), taken.with_others)

    async def _enter(self, pushed: dict[bytes, bytes]) -> None:
        entries: list[UrlEntry] = []
        wrong: list[str] = []
        for data in pushed.values():
            entries_or_reason = self._entries(data)
            if isinstance(entries_or_reason, str):
                wrong.append(self._aside(data, entries_or_reason))
            else:
                entries += entries_or_reason
        frontier = self._context.frontier
        await frontier.with_retry(lambda: self._list.set_aside(wrong))
        if not await self._scheduler.add_seeds(entries):
            # The storage has failed and the crawl ends. Another process gets the entries.
            return
        await frontier.with_retry(lambda: self._list.done(list(pushed)))
        self.taken += len(entries)

    def _entries(self, data: bytes) -> list[UrlEntry] | str:
        """Return the frontier's entries, or the reason why the pushed entry is invalid."""
        if self._options.make is not None:
            return self._made_by_spider(self._options.make, data)
        pushed = read_pushed(data, self._options.encoding, self._context.intake.schemes)
        entry = pushed if isinstance(pushed, str) else self._entry(pushed)
        return entry if isinstance(entry, str) else [entry]

    def _made_by_spider(self, make: Callable[[bytes], Any], data: bytes) -> list[UrlEntry] | str:
        try:
            result = make(data)
            requests = [result] if isinstance(result, Request) else list(result or ())
        except Exception as error:
            return f"make_request_from_data: {type(error).__name__}: {error}"
        entries = []
        for request in requests:
            if not isinstance(request, Request):
                return f"make_request_from_data returned a {type(request).__name__}"
            if (named := resolve(request.url, request.url)) is not None:
                self._context.seeded.allow(named)
            entry = self._scheduler.requests.entry(request)
            if isinstance(entry, str):
                return f"it is out of scope: {entry}"
            entries.append(entry)
        return entries or "make_request_from_data returned no request"

    def _entry(self, pushed: Pushed) -> UrlEntry | str:
        # A pushed URL allows its host as a seed does.
        self._context.seeded.allow(pushed.url)
        entry = self._context.intake.seed_entry(pushed.url)
        if isinstance(entry, str):
            return f"it is out of scope: {entry}"
        entry.level, entry.depth, entry.repeat = pushed.level, pushed.depth, pushed.repeat
        if pushed.meta:
            encoded = request_codec.encode(Request(pushed.url, meta=pushed.meta), self._spider)
            if encoded.lost:
                return f"its meta cannot be stored: {encoded.lost[0]}"
            entry.payload = encoded.payload
        return entry

    def _aside(self, data: bytes, reason: str) -> str:
        """Log an invalid entry, and return the text to be kept of it."""
        number = self.wrong + 1
        text = data.decode(self._options.encoding, "backslashreplace")
        if number <= WRONG_SHOWN:
            logger.warning("Wrong entry in %s (%s): %s", self._list.key, reason, printable(text))
        if number == WRONG_SHOWN:
            logger.warning("Further wrong entries are not logged; all are kept in %s", self._list.wrong_key)
        self.wrong = number
        kept: dict[str, object] = {"entry": text[:WRONG_CUT], "reason": reason}
        if len(text) > WRONG_CUT:
            kept["bytes"] = len(data)
        return json.dumps(kept)


def take_over(spider: Spider, configuration: Configuration) -> StartUrlOptions:
    """Return the options for this spider's list: from the settings, or the attributes that scrapy-redis defines.

    A spider of scrapy-redis is prevented from reading its list itself: it would lose taken entries when it is killed,
    would read only while it is idle, and would block the event loop meanwhile.
    """
    max_idle_seconds = configuration.max_idle_time_before_close
    make = getattr(spider, "make_request_from_data", None)
    if isinstance(spider, RedisMixin):
        spider.crawler.signals.disconnect(spider.spider_idle, signal=signals.spider_idle)
        max_idle_seconds = float(spider.max_idle_time)
        if type(spider).make_request_from_data is RedisMixin.make_request_from_data:
            make = None
    key = getattr(spider, "redis_key", None) or configuration.redis_start_urls_key
    at_once = configuration.redis_start_urls_batch_size or configuration.concurrent_requests
    return StartUrlOptions(
        key.replace("%(name)s", spider.name),
        int(getattr(type(spider), "redis_batch_size", None) or at_once),
        getattr(spider, "redis_encoding", None) or configuration.redis_encoding,
        max_idle_seconds,
        make,
    )
