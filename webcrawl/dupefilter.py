"""A dupefilter in Redis for projects that keep Scrapy's scheduler, or that of scrapy-redis."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.dupefilters import BaseDupeFilter
from scrapy_redis.connection import get_redis_from_settings

from webcrawl.storage.redis.marks import BUCKET_FULL, bucket_number, mark_digits
from webcrawl.storage.redis.server import script
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint, request_fingerprint
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from typing import Self

    from redis import Redis
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request
    from scrapy.settings import BaseSettings

KEY = "%(spider)s:dupefilter"
_DELETED_AT_ONCE = 1000

logger = logging.getLogger(__name__)


class RedisDupeFilter(BaseDupeFilter):
    """Stores the requests that any process of a spider has seen, by the fingerprints that the frontier uses.

    Two requests are the same if their canonical URLs are, and, unless they are plain GET requests, method and body
    too. About nine bytes of Redis are used for each: integers in sets of some 300, ``<key>:<n>``, and
    ``<key>:totals``. The key is ``SCHEDULER_DUPEFILTER_KEY``, by default ``%(spider)s:dupefilter``; in a Redis
    Cluster it must have a tag in braces. The connection is made by the settings of scrapy-redis.

    Scrapy's interface is synchronous: each request costs one round trip to Redis, which blocks the event loop. The
    crawl's own scheduler does not use this class.
    """

    def __init__(self, server: Redis, key: str, *, debug: bool = False) -> None:
        """``debug``: log every request that is filtered, and not only the first."""
        self._server = server
        self._key = key
        self._totals = f"{key}:totals"
        self._see = server.register_script(script("add_request").text)
        self._widen = server.register_script(script("add_bucket").text)
        self._debug = debug
        self._logged = False
        self._buckets = 1
        self._seen = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the filter; called by Scrapy's scheduler."""
        spider = crawler.spider or crawler.spidercls
        return cls._made(crawler.settings, spider.name or "crawl")

    @classmethod
    def from_spider(cls, spider: Spider) -> Self:
        """Create the filter; called by the scheduler of scrapy-redis."""
        return cls._made(spider.settings, spider.name)

    @classmethod
    def _made(cls, settings: BaseSettings, name: str) -> Self:
        key = settings.get("SCHEDULER_DUPEFILTER_KEY") or KEY
        server = get_redis_from_settings(settings)
        return cls(server, key % {"spider": name}, debug=settings.getbool("DUPEFILTER_DEBUG"))

    def __len__(self) -> int:
        """Return the number of known requests at the last look-up."""
        return self._seen

    def request_seen(self, request: Request) -> bool:
        """Return True if the request was seen before, and record it. :raises redis.RedisError: Redis cannot answer"""
        mark = frontier_fingerprint(request)
        while True:
            keys = [self._totals, self._bucket(bucket_number(mark, self._buckets))]
            buckets, *answer = self._see(keys, [self._buckets, f"{mark_digits(mark)}0"])
            if buckets != -1:
                break
            self._buckets = answer[0]
        self._seen, new = answer
        while self._seen > self._buckets * BUCKET_FULL:
            self._grow()
        return not new

    def _grow(self) -> None:
        whole = 1 << (self._buckets.bit_length() - 1)
        keys = [self._totals, self._bucket(self._buckets - whole), self._bucket(self._buckets)]
        self._buckets = self._widen(keys, [self._buckets, 2 * whole])

    def _bucket(self, number: int) -> str:
        return f"{self._key}:{number}"

    def clear(self) -> None:
        """Forget all requests. The scheduler of scrapy-redis calls it at the end, unless SCHEDULER_PERSIST is set."""
        buckets = int(self._server.hget(self._totals, "buckets") or 1)
        self._server.delete(self._totals)
        for first in range(0, buckets, _DELETED_AT_ONCE):
            names = [self._bucket(n) for n in range(first, min(first + _DELETED_AT_ONCE, buckets))]
            self._server.unlink(*names)
        self._buckets, self._seen = 1, 0

    def close(self, reason: str = "") -> None:
        """Keep all requests."""
        self._server.close()

    def log(self, request: Request, spider: Spider) -> None:
        """Log a request that was filtered."""
        if self._debug or not self._logged:
            others = "" if self._debug else "; of others nothing is said without DUPEFILTER_DEBUG"
            logger.debug("Dropped, since it was seen before: %s%s", request, others, extra={"spider": spider})
            self._logged = True
        if spider.crawler.stats is not None:
            spider.crawler.stats.inc_value("dupefilter/filtered")


def frontier_fingerprint(request: Request) -> int:
    """Return the fingerprint of a request in the frontier."""
    resolved = resolve(request.url, request.url)
    if resolved is None:
        return fingerprint(request.url)
    return request_fingerprint(request.method, canonical(resolved), request.body)
