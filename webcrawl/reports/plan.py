"""The needs of a crawl of a given size, predicted from measurements of small crawls: memory, disk and time.

``python -m tests.bench sizes`` measures the sizes anew, prints them beside the predictions, and fits the
``ItemSizes`` to them; ``tests/process/test_plan.py`` compares both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from webcrawl.reports import text

BYTES, SECONDS, PER_SECOND, DOLLARS = "bytes", "seconds", "per_second", "dollars"

_BESIDE_TEXT_BYTES = 100
"""Approximate bytes of a row with a robots.txt besides its text."""

PAGE_CPU_SECONDS = 0.0015
"""CPU seconds of a worker for a page of 29 KB with 100 links, see docs/internals/performance.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a planned crawl, the properties of its pages, and the settings that matter."""

    urls: int
    """URLs that it discovers."""
    hosts: int
    """Politeness keys."""
    pages: int
    """URLs that it fetches."""
    queued: int
    """The most URLs that are queued at a time."""
    length: int = 60
    """Characters of a URL."""
    workers: int = 1
    delay_seconds: float = 5.0
    """Seconds between two requests to a host."""
    download_seconds: float = 0.5
    """Seconds from a request to the end of its response."""
    page_bytes: int = 30_000
    robots_bytes: int = 600
    robots_max: int = 1 << 18
    """The number of robots.txt answers that are kept."""
    robots_ttl_seconds: float = 86_400.0
    active_max: int = 20_000
    """Hosts that a worker has in memory."""
    open_max: int = 256
    """Requests that a worker has open."""
    cache_bytes: int = 32 << 20
    """The size of SQLite's page cache."""
    warc: bool = True
    page_cpu_seconds: float = PAGE_CPU_SECONDS
    seen: str = "exact"
    """``FRONTIER_SEEN``."""
    seen_capacity: int = 10_000_000
    """URLs for which the first Bloom filters are sized, all shards together."""
    seen_error_rate: float = 1e-4
    prices: PlanPrices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPrices:
    """Dollars that the operator pays."""

    core_hour: float = 0.0
    """For a core of a worker, with its memory, an hour."""
    memory_hour: float = 0.0
    """For a GB of memory of the machine of Redis, an hour."""
    disk_month: float = 0.0
    """For a GB on a disk, a month of 730 hours."""
    traffic: float = 0.0
    """For a GB that is received."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted number with its explanation."""

    name: str
    """The name in JSON."""
    label: str
    """The name in text."""
    value: float
    unit: str
    because: str


@dataclass(frozen=True, slots=True)
class ItemSizes:
    """Bytes that each kind of item takes in one of the places where the state of a crawl can be stored."""

    empty: float
    """Bytes without any URL."""
    seen: float
    """Bytes of a known URL."""
    queued: float
    """Further bytes of a queued URL, without its characters."""
    character: float
    """Bytes of a character of a queued URL; the address of the referring page is as long."""
    host: float
    """Bytes of a known host, with a name of some twenty characters."""
    queue: float
    """Further bytes of a host with a queue."""
    robots: float
    """Bytes of a robots.txt answer, without its text."""
    robots_byte: float
    """Bytes of a byte of that text."""
    page_bytes: int = 0
    """The page size, if texts longer than a quarter of a page get pages of their own."""
    shards: int = 1
    """Series of Bloom filters."""
    filter_max: float = math.inf
    """The most URLs of a filter."""

    def total(self, size: Size) -> float:
        return self.empty + sum(figure.value for figure in self.figures(size))

    def figures(self, size: Size) -> list[Prediction]:
        """Return the figures that make up the total, except ``empty``."""
        bytes_each = self.queued + self.character * size.length
        answers, answer = min(size.hosts, size.robots_max), self._answer_bytes(size.robots_bytes)
        host = self.host + self.queue * min(size.queued / max(size.hosts, 1), 1.0)
        queued = f"{text.count(size.queued)} at most, {bytes_each:.0f} bytes each at {size.length} characters"
        kept = f"{text.count(answers)}, {answer:.0f} bytes each with a text of {size.robots_bytes}"
        return [
            self._seen(size),
            Prediction("queued", "URLs queued", size.queued * bytes_each, BYTES, queued),
            Prediction("hosts", "hosts", size.hosts * host, BYTES, f"{host:.0f} bytes each"),
            Prediction("robots", "robots.txt answers", answers * answer, BYTES, kept),
        ]

    def _seen(self, size: Size) -> Prediction:
        if size.seen == "exact":
            return Prediction(
                "seen", "URLs known", size.urls * self.seen, BYTES, f"{self.seen:.1f} bytes each"
            )
        filters = self.filter_bytes(size)
        because = (
            f"Bloom filters, {len(filters)} in series; {sum(filters) / max(size.urls, 1):.2f} bytes each"
        )
        return Prediction("seen", "URLs known", sum(filters), BYTES, because)

    def filter_bytes(self, size: Size) -> list[float]:
        """Return the bytes of each Bloom filter, of all shards together: each is allocated as a whole."""
        left, number, filters = size.urls / self.shards, 0, list[float]()
        while left > 0 or not filters:
            number += 1
            urls = min(max(size.seen_capacity / self.shards, 1) * 2 ** (number - 1), self.filter_max)
            bits = -math.log(size.seen_error_rate / 2**number) / math.log(2) ** 2
            filters.append(self.shards * urls * bits / 8)
            left -= urls
        return filters

    def _answer_bytes(self, text_bytes: int) -> float:
        if not self.page_bytes or text_bytes <= self.page_bytes // 4 - _BESIDE_TEXT_BYTES:
            return self.robots + self.robots_byte * text_bytes
        begin = self.page_bytes // 8
        pages = math.ceil((text_bytes - begin) / self.page_bytes)
        return self.robots + self.robots_byte * begin + pages * self.page_bytes


# The state of a crawl ---------------------------------------------------------------------------------------------

_REDIS_FILTERS = {"shards": 2, "filter_max": 67_108_864}
"""Of one server; see ``storage/redis/lua/filters.lua``."""
REDIS_MEMORY = ItemSizes(99_000, 11.3, 0, 1.76, 302, 168, 308, 1.16, **_REDIS_FILTERS)
"""Additional ``used_memory`` compared with an empty Redis: 7.0.15 with jemalloc 5.3.0."""
LIBC_SHARE = 0.88
"""The share of that which a server built with the C library's malloc takes (Redis 6.2.14, Valkey 9.1.2)."""
SERVER_BYTES = 1_550_000
"""Bytes of an empty Redis."""
CONNECTIONS_BYTES = 700_000
"""Bytes of a worker's connections in the server."""

REDIS_SNAPSHOT = ItemSizes(0, 9.10, 0, 1.09, 123, 64, 161, 0.534, **_REDIS_FILTERS)
"""A compressed RDB file; the append-only file also begins with one after it was rewritten."""
REWRITTEN = 3
"""Redis lets the append-only file double in size, and writes a new one beside it."""

SQLITE_FILE = ItemSizes(38_000, 23.2, 59.2, 1.99, 374, 34, 108, 1.2, page_bytes=4096)
"""``frontier.db`` at its largest: the space of finished URLs is reused for new ones."""

APPENDED_BYTES = 7_000
"""Bytes that a page with ten new links adds to the append-only file."""
FILTERS_APPENDED_BYTES = 1_700
"""Further bytes of that with Bloom filters: 170 for each new URL."""

# A worker ---------------------------------------------------------------------------------------------------------

WORKER_BYTES = 112_000_000
"""Resident bytes of a worker just after its start."""
KEEPER_BYTES = 29_000_000
"""Resident bytes of the process that keeps its archive."""
READER_BYTES = 32_000_000
"""Resident bytes of a process that parses its pages; a worker has one by default."""
ACTIVE_HOST_BYTES = 2_700
"""Bytes of an active host, without its robots.txt and the head of its queue."""
HEAD = 16
"""The number of URLs at the head of a queue."""
ENTRY_BYTES, ENTRY_CHARACTER_BYTES = 300, 2.0
"""Bytes of each of them, and of each of its characters; the address of the referring page is as long."""
LINKS_MET = 1 << 20
LINKS_MET_BYTES = 8 * LINKS_MET
"""Bytes of the table of recently found links."""
URLS_KNOWN, URL_KNOWN_BYTES = 300_000, 64
"""The number of URLs that are cached as known to Redis, and the bytes of each."""
OPEN_PAGES = 5.0
"""The number of times that a page that is being fetched is in memory: as received, as text, as a tree."""

# The archive ------------------------------------------------------------------------------------------------------

RECORD_BYTES = 1_000
"""Bytes of the WARC records of a request and its response besides the body."""
ARCHIVED_SHARE = 0.31
"""The share of a body after compression (level 2), measured on the pages of ``make bench``, which are simpler than
most, and denser.
"""
LOG_BYTES = 378
"""Bytes of a line of the fetch log."""

# Time -------------------------------------------------------------------------------------------------------------

REDIS_PAGE_CPU_SECONDS = 0.0002
"""CPU seconds of Redis for such a page with ten new links: 0.12 ms for one worker, 0.19 for each of four."""
FILTERS_TIMES = 1.6
"""The times of that with Bloom filters: 0.72 ms beside 0.45, in crawls of the same pages on a busy machine."""
TO_REDIS_BYTES, FROM_REDIS_BYTES = 1_420, 240
"""Bytes that a worker sends to Redis for such a page, and gets from it, by the counters of the server."""

TURNED_AWAY_FROM = 0.85
"""The share of its budget from which on a Redis does not accept every new URL."""


@dataclass(frozen=True, slots=True)
class Section:
    """Figures of one subject."""

    name: str
    """The name in JSON."""
    label: str
    """The name in text."""
    figures: Sequence[Prediction]


def plan(size: Size) -> list[Section]:
    """Return all predictions."""
    return [
        Section("redis_memory", "Redis: memory", _redis_memory(size)),
        Section("redis_disk", "Redis: disk", _redis_disk(size)),
        Section("sqlite_disk", "or SQLite, with one worker: disk", _sqlite(size)),
        Section("worker_memory", "A worker: memory", _worker(size)),
        Section("archive", "All workers: disk", _archive(size)),
        Section("network", "Network", _network(size)),
        Section("time", "Time", _time(size)),
        *([Section("cost", "Cost", _cost(size, size.prices))] if size.prices is not None else []),
    ]


def redis_memory_bytes(size: Size) -> float:
    """Return ``used_memory``; with several servers their sum."""
    return SERVER_BYTES + size.workers * CONNECTIONS_BYTES + REDIS_MEMORY.total(size)


def worker_bytes(size: Size, *, shared: bool) -> float:
    """Return the resident memory of one worker in bytes; ``shared``: its crawl is in Redis."""
    kept = [_known(size)] if shared else [_cache(size), *_filters(size)]
    return _sum([*_every_worker(size), *kept])


def warc_bytes(size: Size, robots_requests: int) -> float:
    if not size.warc:
        return 0.0
    bodies = size.pages * size.page_bytes + robots_requests * size.robots_bytes
    return (size.pages + robots_requests) * RECORD_BYTES + ARCHIVED_SHARE * bodies


def seconds(size: Size) -> float:
    """Return the least duration in seconds, by every limit of a crawl."""
    return max(figure.value for figure in _limits(size))


def _redis_memory(size: Size) -> list[Prediction]:
    parts, total = REDIS_MEMORY.figures(size), redis_memory_bytes(size)
    budget = total / TURNED_AWAY_FROM
    return [
        *parts,
        Prediction(
            "server", "the server itself", total - _sum(parts), BYTES, "with the workers' connections"
        ),
        Prediction("total", "together", total, BYTES, "used_memory with jemalloc; with libc an eighth less"),
        Prediction(
            "budget",
            "REDIS_BUDGET_BYTES",
            budget,
            BYTES,
            f"from {TURNED_AWAY_FROM:.0%} of it on URLs are turned away; maxmemory a tenth more",
        ),
        Prediction(
            "machine",
            "memory of its machine",
            2 * budget,
            BYTES,
            "what changes while a snapshot is written is copied, at worst all",
        ),
    ]


def _redis_disk(size: Size) -> list[Prediction]:
    snapshot = REDIS_SNAPSHOT.total(size)
    return [
        Prediction("snapshot", "snapshot", snapshot, BYTES, "RDB, compressed"),
        Prediction(
            "append_only_file",
            "append-only file",
            REWRITTEN * snapshot,
            BYTES,
            "at most: it is written anew when it is twice as large as after the last time",
        ),
        Prediction(
            "appended",
            "written to it in all",
            size.pages * _appended_bytes(size),
            BYTES,
            f"{text.size(_appended_bytes(size))} a page with ten new links, besides writing it anew",
        ),
    ]


def _appended_bytes(size: Size) -> int:
    return APPENDED_BYTES + (0 if size.seen == "exact" else FILTERS_APPENDED_BYTES)


def _sqlite(size: Size) -> list[Prediction]:
    total = SQLITE_FILE.total(size)
    name = "frontier.db" if size.seen == "exact" else "with seen-N.bloom"
    return [
        *SQLITE_FILE.figures(size),
        Prediction("total", name, total, BYTES, "it does not become smaller again"),
    ]


def _worker(size: Size) -> list[Prediction]:
    shared, alone = worker_bytes(size, shared=True), worker_bytes(size, shared=False)
    filters = " and the Bloom filters" if size.seen != "exact" else ""
    return [
        *_every_worker(size),
        _known(size),
        Prediction("total", "together", shared, BYTES, "resident, with Redis"),
        Prediction(
            "alone",
            "with SQLite",
            alone,
            BYTES,
            f"{_cache(size).because}{filters} in place of the URLs known",
        ),
    ]


def _every_worker(size: Size) -> list[Prediction]:
    active, head = min(size.hosts, size.active_max), min(size.queued / max(size.hosts, 1), HEAD)
    entry = ENTRY_BYTES + ENTRY_CHARACTER_BYTES * size.length
    host = ACTIVE_HOST_BYTES + size.robots_bytes + head * entry
    fetched = min(size.open_max, size.hosts)
    pages = fetched * OPEN_PAGES * size.page_bytes
    return [
        Prediction("program", "the program", WORKER_BYTES, BYTES, "Python and Scrapy"),
        Prediction("keeper", "the process that keeps the archive", KEEPER_BYTES, BYTES, "Python"),
        Prediction("reader", "the process that reads pages", READER_BYTES, BYTES, "Python"),
        Prediction(
            "active", "active hosts", active * host, BYTES, f"{active:,} at most, {host:,.0f} bytes each"
        ),
        Prediction("met", "links met lately", LINKS_MET_BYTES, BYTES, f"room for {LINKS_MET:,}"),
        Prediction("open", "pages being fetched", pages, BYTES, f"{fetched}, each {OPEN_PAGES:g} times"),
    ]


def _known(size: Size) -> Prediction:
    known = min(size.urls, URLS_KNOWN)
    return Prediction("known", "URLs known to Redis", known * URL_KNOWN_BYTES, BYTES, f"the last {known:,}")


def _cache(size: Size) -> Prediction:
    cache = min(size.cache_bytes, SQLITE_FILE.total(size))
    return Prediction("cache", "page cache", cache, BYTES, f"a page cache of {text.size(cache)}")


def _filters(size: Size) -> list[Prediction]:
    """Return the Bloom filters that a worker with SQLite has in memory, if it has any."""
    if size.seen == "exact":
        return []
    return [
        Prediction("filters", "Bloom filters", sum(SQLITE_FILE.filter_bytes(size)), BYTES, "as in their file")
    ]


def _network(size: Size) -> list[Prediction]:
    robots, least = _robots_requests(size), seconds(size)
    received = size.pages * size.page_bytes + robots * size.robots_bytes
    shared = size.pages * (TO_REDIS_BYTES + FROM_REDIS_BYTES)
    return [
        Prediction(
            "received",
            "received from sites",
            received,
            BYTES,
            f"bodies as if no site compressed them; {_rate(received, least)} all the time",
        ),
        Prediction(
            "redis",
            "between workers and Redis",
            shared,
            BYTES,
            f"{text.size(TO_REDIS_BYTES)} to Redis and {text.size(FROM_REDIS_BYTES)} back a page; "
            f"{_rate(shared, least)} all the time",
        ),
    ]


def _rate(size_bytes: float, duration: float) -> str:
    return f"{text.size(size_bytes / duration if duration else 0.0)}/s"


def _cost(size: Size, prices: PlanPrices) -> list[Prediction]:
    """Return what the crawl costs for the least time that it takes; its archive is kept for a month."""
    hours, month = seconds(size) / 3600, 730.0
    memory = 2 * redis_memory_bytes(size) / TURNED_AWAY_FROM / 1e9
    disk = (_sum(_archive(size)[-1:]) + REWRITTEN * REDIS_SNAPSHOT.total(size) * hours / month) / 1e9
    received = _network(size)[0].value / 1e9
    parts = [
        Prediction(
            "workers",
            "workers",
            size.workers * hours * prices.core_hour,
            DOLLARS,
            f"{text.count(size.workers)} cores for {text.duration(3600 * hours)} at {prices.core_hour:g} an hour",
        ),
        Prediction(
            "redis",
            "machine of Redis",
            memory * hours * prices.memory_hour,
            DOLLARS,
            f"{memory:,.0f} GB of memory at {prices.memory_hour:g} an hour",
        ),
        Prediction(
            "disk",
            "disk",
            disk * prices.disk_month,
            DOLLARS,
            f"the archive for a month and the files of Redis meanwhile, at {prices.disk_month:g} a GB and month",
        ),
        Prediction(
            "traffic",
            "traffic",
            received * prices.traffic,
            DOLLARS,
            f"{received:,.0f} GB at {prices.traffic:g}",
        ),
    ]
    total = _sum(parts)
    each = total / size.pages * 1e6 if size.pages else 0.0
    return [*parts, Prediction("total", "together", total, DOLLARS, f"{each:.2f} for a million pages")]


def _robots_requests(size: Size) -> int:
    return size.hosts * max(math.ceil(seconds(size) / size.robots_ttl_seconds), 1)


def _archive(size: Size) -> list[Prediction]:
    robots = _robots_requests(size)
    warc, log = warc_bytes(size, robots), (size.pages + robots) * LOG_BYTES
    archived = f"{warc / max(size.pages, 1):,.0f} bytes for a page of {size.page_bytes:,}"
    return [
        Prediction("warc", "WARC files", warc, BYTES, f"{archived}; {ARCHIVED_SHARE:.0%} of a body are left"),
        Prediction(
            "fetch_log", "fetch log", log, BYTES, f"{LOG_BYTES} bytes a request; rolled over, a fifth"
        ),
        Prediction(
            "total", "together", warc + log, BYTES, f"with {text.count(robots)} requests for robots.txt"
        ),
    ]


def _time(size: Size) -> list[Prediction]:
    least = seconds(size)
    rate = size.pages / least if least else 0.0
    return [
        *_limits(size),
        Prediction("total", "so at least", least, SECONDS, "the slowest of these"),
        Prediction("rate", "that is", rate, PER_SECOND, "pages, of all workers together"),
    ]


def _limits(size: Size) -> list[Prediction]:
    workers = max(size.workers, 1)
    turn = size.delay_seconds + size.download_seconds
    each = size.pages / max(size.hosts, 1)
    at_once = max(min(size.hosts, workers * size.active_max), 1)
    politeness = max((each + 1) * turn, size.pages / at_once * turn)
    opened = size.pages * size.download_seconds / (workers * size.open_max)
    return [
        Prediction(
            "politeness",
            "by politeness alone",
            politeness,
            SECONDS,
            f"{each:,.0f} pages a host, one every {turn:g} s; a host with more takes longer",
        ),
        Prediction(
            "requests",
            "by open requests",
            opened,
            SECONDS,
            f"{size.open_max} a worker, {size.download_seconds:g} s each",
        ),
        Prediction(
            "worker_cpu",
            "by the workers' CPU",
            size.pages * size.page_cpu_seconds / workers,
            SECONDS,
            f"{1000 * size.page_cpu_seconds:g} ms a page, a core for each worker",
        ),
        Prediction(
            "redis_cpu",
            "by the CPU of Redis",
            size.pages * _redis_cpu_seconds(size),
            SECONDS,
            f"{1000 * _redis_cpu_seconds(size):.2g} ms a page with 100 links, one core",
        ),
    ]


def _redis_cpu_seconds(size: Size) -> float:
    return REDIS_PAGE_CPU_SECONDS * (1.0 if size.seen == "exact" else FILTERS_TIMES)


def _sum(figures: Sequence[Prediction]) -> float:
    return sum(figure.value for figure in figures)
