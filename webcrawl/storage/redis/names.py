"""The names of the crawl's keys in Redis, the shard of a politeness key, and the options of a crawl in Redis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

from webcrawl.storage.redis.packing import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIXED = (
    "hosts",
    "idle",
    "held",
    "changed_queues",
    "queues",
    "totals",
    "given_up",
    "members",
    "seen",
    "chunks",
)
"""The order in which ``lua/shard.lua`` expects them."""


@lru_cache(1 << 16)
def shard_number(key: str, shards: int) -> int:
    return crc32(encoded(key)) % shards


SEEN = "FRONTIER_SEEN"
_CAPACITY, _ERROR_RATE = "FRONTIER_SEEN_CAPACITY", "FRONTIER_SEEN_ERROR_RATE"

FILTERS = 16
"""The number of Bloom filters of a shard, one after another in use."""


@dataclass(frozen=True, slots=True)
class FilterSizes:
    """The Bloom filters of each shard: see ``lua/filters.lua``."""

    urls: int
    """URLs of the first one."""
    error_rate: float
    """Share of new URLs that all together may take for known."""

    @property
    def lua(self) -> str:
        """The sizes as the operations read them."""
        return f"local FILTER_URLS, FILTER_ERROR = {self.urls}, {self.error_rate!r}\n"


class CrawlNames:
    """Keys of the whole crawl. ``spider`` is the prefix, as in scrapy-redis."""

    def __init__(self, spider: str) -> None:
        self.spider = spider
        self.meta = f"{spider}:meta"
        self.workers = f"{spider}:workers"
        self.seeded = f"{spider}:seeded"
        self.seed_addresses = f"{spider}:seed_addresses"
        self.seed_lists = f"{spider}:seed_lists"
        self.bandwidth = f"{spider}:bandwidth"
        self.counted = f"{spider}:counted"
        self.moving = f"{spider}:moving"
        """Exists while the crawl is moved from here: no worker may begin."""


class ShardNames:
    """Keys of one shard: all in one slot of a cluster."""

    def __init__(self, spider: str, number: int, *, has_filters: bool = False) -> None:
        self._tag = f"{{{spider}:{number}}}:".encode()
        self.fixed = [self._tag + name.encode() for name in _FIXED]
        self.hosts, self.idle, self.held, self.changed_queues, self.queues = self.fixed[:5]
        self.totals, self.given_up, self.members, self.seen, self.chunks = self.fixed[5:]
        self.reasons = self._tag + b"reasons"
        self.robots = self._tag + b"robots"
        self.robots_ends = self._tag + b"robots_ends"
        filters = [self._tag + b"filter:%d" % n for n in range(1, FILTERS + 1)] if has_filters else []
        self.of_seen_test = [*self.fixed, self.reasons, *filters]
        """Keys of the operations that use the seen test."""
        self.others = [self.reasons, *filters, self.robots, self.robots_ends]
        """Keys that only some operations need."""
        self.clocks = self._tag + b"clock:"
        """The prefix of the names of clocks that politeness keys share."""
        self.tables = self._tag + b"table:"
        """The prefix of the names of tables."""

    def clock(self, name: str) -> bytes:
        return self.clocks + encoded(name)

    def table(self, name: str) -> TableNames:
        return TableNames(self.tables + name.encode())


class TableNames:
    """Keys of one table in one shard; see ``lua/table.lua``. ``times`` and ``ids`` are prefixes of partitions."""

    def __init__(self, name: bytes) -> None:
        self.rows, self.headers = name, name + b":headers"
        self.due, self.not_before = name + b":due", name + b":not_before"
        self.times, self.ids = name + b":times:", name + b":ids:"


@dataclass(frozen=True, slots=True)
class RedisOptions:
    """Options of a crawl in Redis."""

    spider: str = "broad"
    """The prefix of all its keys."""
    shards: int = 0
    """Number of shards of a new crawl, 0 for the default of its server; an existing crawl keeps its own number."""
    lease_seconds: float = 60.0
    queue_max: int = 0
    """URLs per key; more are pruned, lowest level first. 0 for no limit."""
    seen: str = "exact"
    """``FRONTIER_SEEN``."""
    seen_capacity: int = 10_000_000
    """URLs of a new crawl for which the first Bloom filters are sized."""
    seen_error_rate: float = 1e-4
    robots_max: int = 1 << 18
    """robots.txt answers kept, in the whole crawl."""
    budget_bytes: int = 0
    """Memory of each server that may be used; 0 for most of its own limit, if it has one."""
    delay_seconds: float = 0.0
    """The rest that a key that was never fetched from owes after its holder was lost."""
    claim_seconds: float = 180.0
    """Time for which a fetch may keep clocks that it shares with others."""
    worker: str = "worker"
    """The name of this process, for messages."""
    arriving: str = ""
    """The packed mark of the move by which this process brings the crawl here; empty for a worker."""


def seen_settings(options: RedisOptions) -> dict[str, str]:
    """Return the settings of the seen test with which a crawl begins: those of a Bloom filter never change then."""
    if options.seen == "exact":
        return {SEEN: options.seen}
    return {
        SEEN: options.seen,
        _CAPACITY: str(options.seen_capacity),
        _ERROR_RATE: repr(options.seen_error_rate),
    }


def filter_sizes(meta: Mapping[str, str]) -> FilterSizes | None:
    """Return the sizes of the Bloom filters of a crawl that was begun with these settings; None for the exact
    test."""
    if meta.get(SEEN, "exact") == "exact":
        return None
    shards = max(int(meta["shards"]), 1)
    return FilterSizes(max(int(meta[_CAPACITY]) // shards, 1), float(meta[_ERROR_RATE]))
