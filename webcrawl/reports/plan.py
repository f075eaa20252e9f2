"""The needs of a crawl of a given size, predicted from measurements of small crawls: memory, disk and time.

``python -m tests.bench sizes`` measures the sizes anew, prints them beside the predictions, and fits the
``ItemSizes`` to them; ``tests/process/test_plan.py`` compares both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from webcrawl.reports import text

BYTES, SECONDS, PER_SECOND = "bytes", "seconds", "per_second"

_BESIDE_TEXT_BYTES = 100
"""Approximate bytes of a row with a robots.txt besides its text."""


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
            Prediction("seen", "URLs known", size.urls * self.seen, BYTES, f"{self.seen:.1f} bytes each"),
            Prediction("queued", "URLs queued", size.queued * bytes_each, BYTES, queued),
            Prediction("hosts", "hosts", size.hosts * host, BYTES, f"{host:.0f} bytes each"),
            Prediction("robots", "robots.txt answers", answers * answer, BYTES, kept),
        ]

    def _answer_bytes(self, text_bytes: int) -> float:
        if not self.page_bytes or text_bytes <= self.page_bytes // 4 - _BESIDE_TEXT_BYTES:
            return self.robots + self.robots_byte * text_bytes
        begin = self.page_bytes // 8
        pages = math.ceil((text_bytes - begin) / self.page_bytes)
        return self.robots + self.robots_byte * begin + pages * self.page_bytes


# The state of a crawl ---------------------------------------------------------------------------------------------

REDIS_MEMORY = ItemSizes(99_000, 11.3, 0, 1.76, 302, 168, 308, 1.16)
"""Additional ``used_memory`` compared with an empty Redis: 7.0.15 with jemalloc 5.3.0."""
LIBC_SHARE = 0.88
"""The share of that which a server built with the C library's malloc takes (Redis 6.2.14, Valkey 9.1.2)."""
SERVER_BYTES = 1_550_000
"""Bytes of an empty Redis."""
CONNECTIONS_BYTES = 700_000
"""Bytes of a worker's connections in the server."""

REDIS_SNAPSHOT = ItemSizes(0, 9.10, 0, 1.09, 123, 64, 161, 0.534)
"""A compressed RDB file; the append-only file also begins with one after it was rewritten."""
REWRITTEN = 3
"""Redis lets the append-only file double in size, and writes a new one beside it."""

SQLITE_FILE = ItemSizes(38_000, 23.2, 59.2, 1.99, 374, 34, 108, 1.2, page_bytes=4096)
"""``frontier.db`` at its largest: the space of finished URLs is reused for new ones."""

APPENDED_BYTES = 7_000
"""Bytes that a page with ten new links adds to the append-only file."""

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

PAGE_CPU_SECONDS = 0.0015
"""CPU seconds of a worker for a page of 29 KB with 100 links, see docs/internals/performance.md."""
REDIS_PAGE_CPU_SECONDS = 0.0002
"""CPU seconds of Redis for such a page with ten new links: 0.12 ms for one worker, 0.19 for each of four."""

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
        Section("time", "Time", _time(size)),
    ]


def redis_memory_bytes(size: Size) -> float:
    """Return ``used_memory``; with several servers their sum."""
    return SERVER_BYTES + size.workers * CONNECTIONS_BYTES + REDIS_MEMORY.total(size)


def worker_bytes(size: Size, *, shared: bool) -> float:
    """Return the resident memory of one worker in bytes; ``shared``: its crawl is in Redis."""
    kept = _known(size) if shared else _cache(size)
    return _sum([*_every_worker(size), kept])


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
            size.pages * APPENDED_BYTES,
            BYTES,
            f"{text.size(APPENDED_BYTES)} a page with ten new links, besides writing it anew",
        ),
    ]


def _sqlite(size: Size) -> list[Prediction]:
    total = SQLITE_FILE.total(size)
    return [
        *SQLITE_FILE.figures(size),
        Prediction("total", "frontier.db", total, BYTES, "it does not become smaller again"),
    ]


def _worker(size: Size) -> list[Prediction]:
    shared, alone = worker_bytes(size, shared=True), worker_bytes(size, shared=False)
    return [
        *_every_worker(size),
        _known(size),
        Prediction("total", "together", shared, BYTES, "resident, with Redis"),
        Prediction(
            "alone", "with SQLite", alone, BYTES, f"{_cache(size).because} in place of the URLs known"
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


def _archive(size: Size) -> list[Prediction]:
    robots = size.hosts * max(math.ceil(seconds(size) / size.robots_ttl_seconds), 1)
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
            size.pages * PAGE_CPU_SECONDS / workers,
            SECONDS,
            f"{1000 * PAGE_CPU_SECONDS:g} ms a page with 100 links, a core for each worker",
        ),
        Prediction(
            "redis_cpu",
            "by the CPU of Redis",
            size.pages * REDIS_PAGE_CPU_SECONDS,
            SECONDS,
            f"{1000 * REDIS_PAGE_CPU_SECONDS:g} ms a page with 100 links, one core",
        ),
    ]


def _sum(figures: Sequence[Prediction]) -> float:
    return sum(figure.value for figure in figures)
