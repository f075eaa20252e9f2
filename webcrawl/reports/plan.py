"""What a crawl of a given size needs: memory, disk and time, from what small ones were measured to need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from webcrawl.reports import costs, units
from webcrawl.reports.costs import BYTES, PER_SECOND, SECONDS, Figure, Size


@dataclass(frozen=True, slots=True)
class Section:
    """Figures of one subject."""

    name: str
    """For programs."""
    label: str
    """For people."""
    figures: Sequence[Figure]


def plan(size: Size) -> list[Section]:
    """Everything that can be said beforehand."""
    return [
        Section("redis_memory", "Redis: memory", _redis_memory(size)),
        Section("redis_disk", "Redis: disk", _redis_disk(size)),
        Section("sqlite_disk", "or SQLite, with one worker: disk", _sqlite(size)),
        Section("worker_memory", "A worker: memory", _worker(size)),
        Section("archive", "All workers: disk", _archive(size)),
        Section("time", "Time", _time(size)),
    ]


def redis_memory_bytes(size: Size) -> float:
    """``used_memory``, of several servers the sum."""
    return costs.SERVER_BYTES + size.workers * costs.CONNECTIONS_BYTES + costs.REDIS_MEMORY.total(size)


def worker_bytes(size: Size, *, shared: bool) -> float:
    """Resident memory of one worker; ``shared``: its crawl is in Redis."""
    kept = _known(size) if shared else _cache(size)
    return _sum([*_every_worker(size), kept])


def warc_bytes(size: Size, robots_requests: int) -> float:
    if not size.warc:
        return 0.0
    bodies = size.pages * size.page_bytes + robots_requests * size.robots_bytes
    return (size.pages + robots_requests) * costs.RECORD_BYTES + costs.ARCHIVED_SHARE * bodies


def seconds(size: Size) -> float:
    """At least, by everything that limits a crawl."""
    return max(figure.value for figure in _limits(size))


def _redis_memory(size: Size) -> list[Figure]:
    parts, total = costs.REDIS_MEMORY.figures(size), redis_memory_bytes(size)
    budget = total / costs.TURNED_AWAY_FROM
    return [
        *parts,
        Figure("server", "the server itself", total - _sum(parts), BYTES, "with the workers' connections"),
        Figure("total", "together", total, BYTES, "used_memory with jemalloc; with libc an eighth less"),
        Figure(
            "budget",
            "REDIS_BUDGET_BYTES",
            budget,
            BYTES,
            f"from {costs.TURNED_AWAY_FROM:.0%} of it on URLs are turned away; maxmemory a tenth more",
        ),
        Figure(
            "machine",
            "memory of its machine",
            2 * budget,
            BYTES,
            "what changes while a snapshot is written is copied, at worst all",
        ),
    ]


def _redis_disk(size: Size) -> list[Figure]:
    snapshot = costs.REDIS_SNAPSHOT.total(size)
    return [
        Figure("snapshot", "snapshot", snapshot, BYTES, "RDB, compressed"),
        Figure(
            "append_only_file",
            "append-only file",
            costs.REWRITTEN * snapshot,
            BYTES,
            "at most: it is written anew when it is twice as large as after the last time",
        ),
        Figure(
            "appended",
            "written to it in all",
            size.pages * costs.APPENDED_BYTES,
            BYTES,
            f"{units.size(costs.APPENDED_BYTES)} a page with ten new links, besides writing it anew",
        ),
    ]


def _sqlite(size: Size) -> list[Figure]:
    total = costs.SQLITE_FILE.total(size)
    return [
        *costs.SQLITE_FILE.figures(size),
        Figure("total", "frontier.db", total, BYTES, "it does not become smaller again"),
    ]


def _worker(size: Size) -> list[Figure]:
    shared, alone = worker_bytes(size, shared=True), worker_bytes(size, shared=False)
    return [
        *_every_worker(size),
        _known(size),
        Figure("total", "together", shared, BYTES, "resident, with Redis"),
        Figure("alone", "with SQLite", alone, BYTES, f"{_cache(size).because} in place of the URLs known"),
    ]


def _every_worker(size: Size) -> list[Figure]:
    active, head = min(size.hosts, size.active_max), min(size.queued / max(size.hosts, 1), costs.HEAD)
    entry = costs.ENTRY_BYTES + costs.ENTRY_CHARACTER_BYTES * size.length
    host = costs.ACTIVE_HOST_BYTES + size.robots_bytes + head * entry
    fetched = min(size.open_max, size.hosts)
    pages = fetched * costs.OPEN_PAGES * size.page_bytes
    return [
        Figure("program", "the program", costs.WORKER_BYTES, BYTES, "Python and Scrapy"),
        Figure("keeper", "the process that keeps the archive", costs.KEEPER_BYTES, BYTES, "Python"),
        Figure("reader", "the process that reads pages", costs.READER_BYTES, BYTES, "Python"),
        Figure("active", "active hosts", active * host, BYTES, f"{active:,} at most, {host:,.0f} bytes each"),
        Figure("met", "links met lately", costs.LINKS_MET_BYTES, BYTES, f"room for {costs.LINKS_MET:,}"),
        Figure("open", "pages being fetched", pages, BYTES, f"{fetched}, each {costs.OPEN_PAGES:g} times"),
    ]


def _known(size: Size) -> Figure:
    known = min(size.urls, costs.URLS_KNOWN)
    return Figure("known", "URLs known to Redis", known * costs.URL_KNOWN_BYTES, BYTES, f"the last {known:,}")


def _cache(size: Size) -> Figure:
    cache = min(size.cache_bytes, costs.SQLITE_FILE.total(size))
    return Figure("cache", "page cache", cache, BYTES, f"a page cache of {units.size(cache)}")


def _archive(size: Size) -> list[Figure]:
    robots = size.hosts * max(math.ceil(seconds(size) / size.robots_ttl_seconds), 1)
    warc, log = warc_bytes(size, robots), (size.pages + robots) * costs.LOG_BYTES
    archived = f"{warc / max(size.pages, 1):,.0f} bytes for a page of {size.page_bytes:,}"
    return [
        Figure(
            "warc", "WARC files", warc, BYTES, f"{archived}; {costs.ARCHIVED_SHARE:.0%} of a body are left"
        ),
        Figure(
            "fetch_log", "fetch log", log, BYTES, f"{costs.LOG_BYTES} bytes a request; rolled over, a fifth"
        ),
        Figure("total", "together", warc + log, BYTES, f"with {units.count(robots)} requests for robots.txt"),
    ]


def _time(size: Size) -> list[Figure]:
    least = seconds(size)
    rate = size.pages / least if least else 0.0
    return [
        *_limits(size),
        Figure("total", "so at least", least, SECONDS, "the slowest of these"),
        Figure("rate", "that is", rate, PER_SECOND, "pages, of all workers together"),
    ]


def _limits(size: Size) -> list[Figure]:
    workers = max(size.workers, 1)
    turn = size.delay_seconds + size.download_seconds
    each = size.pages / max(size.hosts, 1)
    at_once = max(min(size.hosts, workers * size.active_max), 1)
    politeness = max((each + 1) * turn, size.pages / at_once * turn)
    opened = size.pages * size.download_seconds / (workers * size.open_max)
    return [
        Figure(
            "politeness",
            "by politeness alone",
            politeness,
            SECONDS,
            f"{each:,.0f} pages a host, one every {turn:g} s; a host with more takes longer",
        ),
        Figure(
            "requests",
            "by open requests",
            opened,
            SECONDS,
            f"{size.open_max} a worker, {size.download_seconds:g} s each",
        ),
        Figure(
            "worker_cpu",
            "by the workers' CPU",
            size.pages * costs.PAGE_CPU_SECONDS / workers,
            SECONDS,
            f"{1000 * costs.PAGE_CPU_SECONDS:g} ms a page with 100 links, a core for each worker",
        ),
        Figure(
            "redis_cpu",
            "by the CPU of Redis",
            size.pages * costs.REDIS_PAGE_CPU_SECONDS,
            SECONDS,
            f"{1000 * costs.REDIS_PAGE_CPU_SECONDS:g} ms a page with 100 links, one core",
        ),
    ]


def _sum(figures: Sequence[Figure]) -> float:
    return sum(figure.value for figure in figures)
