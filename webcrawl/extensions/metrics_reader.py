"""Reads the figures of the running crawl from the frontier of the scheduler."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from webcrawl.crawl.context import get_context
from webcrawl.fetching.bandwidth import get_bandwidth
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.network import get_network
from webcrawl.processes import cpu_seconds
from webcrawl.reports.pace import CrawlLimits, Means, PaceMeter, Reading

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration
    from webcrawl.frontier.tally import Snapshot, Tally


MEANS_SECONDS = 5.0
"""Interval at which figures are read that cost more: the capacity, and the CPU time of all processes."""
CACHE = "cache_"
"""The beginning of the names of figures on caches."""


@runtime_checkable
class Countable(Protocol):
    """The figures of a frontier."""

    @property
    def tally(self) -> Tally: ...

    def snapshot(self) -> Snapshot: ...


@runtime_checkable
class Bounded(Protocol):
    """The limits of a frontier's requests."""

    @property
    def open_max(self) -> int: ...

    def capacity(self) -> float: ...


@runtime_checkable
class InMemory(Protocol):
    """The things that a frontier holds in memory."""

    @property
    def active_max(self) -> int: ...

    def in_memory(self) -> tuple[int, int]: ...

    def storing(self) -> tuple[int, int]: ...


def get_frontier(crawler: Crawler) -> Countable | None:
    """Return the frontier of a crawl; None if it has another scheduler, or if the spider is not open."""
    frontier = getattr(crawler.engine.scheduler, "frontier", None)
    return frontier if isinstance(frontier, Countable) else None


def get_folder(crawler: Crawler) -> Path | None:
    """Return the crawl's folder; None if it has none."""
    jobdir = get_context(crawler).jobdir
    return None if jobdir is None else jobdir.path


WHOLE_CRAWL = "WHOLE_CRAWL_FOLDER"
"""A setting that the parent of several workers makes for them: the JOBDIR of the crawl."""


def get_log_folder(crawler: Crawler) -> Path | None:
    """Return the folder of the logs that all processes of a crawl with one JOBDIR write together; None if there is
    none."""
    whole = crawler.settings.get(WHOLE_CRAWL)
    return Path(whole) if whole else get_folder(crawler)


def cache_figures(crawler: Crawler) -> dict[str, float]:
    """Return what the process holds in memory and caches, for other processes: ``cache_NAME_entries`` and, where they
    apply, ``_max``, ``_hits`` and ``_misses`` since its start. Call it on the event loop, while the spider is open.
    """
    frontier, rules = getattr(crawler.engine.scheduler, "frontier", None), get_context(crawler).rules
    network, bodies = get_network(crawler), get_body_memory(crawler)
    values: dict[str, float] = {}

    def add(name: str, **figures: float) -> None:
        values.update((f"{CACHE}{name}_{what}", float(number)) for what, number in figures.items())

    if isinstance(frontier, InMemory):
        active, urls = frontier.in_memory()
        add("active", entries=active, max=frontier.active_max)
        add("urls", entries=urls)
        archived, committed = frontier.storing()
        add("unstored", entries=archived + committed)
    add("robots", entries=len(rules), max=rules.size, hits=rules.hits, misses=rules.misses)
    names = network.names
    add("dns", entries=len(names), max=names.size, hits=names.hits, misses=names.misses)
    add("connections", entries=network.idle, max=min(network.idle_max, 1e9))
    tls = network.tls_sessions
    add("tls", entries=len(tls), max=tls.max, hits=tls.resumed, misses=tls.connections - tls.resumed)
    add("bodies", entries=bodies.used, max=bodies.total)
    return values


class MetricsReader:
    """Returns the current figures. Each display or log has its own reader, created when the spider opens."""

    def __init__(self, frontier: Countable, configuration: Configuration, crawler: Crawler) -> None:
        self._frontier = frontier
        self._crawler = crawler
        self._stats = crawler.stats
        self._bandwidth = get_bandwidth(crawler)
        items = crawler.settings.getint("CLOSESPIDER_ITEMCOUNT")
        limits = CrawlLimits(
            configuration.closespider_pagecount,
            configuration.closespider_timeout,
            items,
            configuration.page_budget,
        )
        self._pace = PaceMeter(time.monotonic(), limits, configuration.politeness_min_delay)
        self._means = Means(cores=cores())
        self._means_at = -MEANS_SECONDS

    def read(self) -> Reading:
        """Return the current figures; this costs a few attribute look-ups and one Snapshot."""
        frontier = self._frontier
        stats = self._stats
        items = stats.get_value("item_scraped_count", 0) if stats is not None else 0
        # What CLOSESPIDER_PAGECOUNT counts: the signal that also counts this statistic.
        responses = stats.get_value("response_received_count", 0) if stats is not None else 0
        closing = getattr(self._crawler.engine, "is_closing", False)
        now = time.monotonic()
        return self._pace.read(
            now,
            frontier.tally,
            frontier.snapshot(),
            time.time(),
            items,
            responses=responses,
            is_closing=closing,
            means=self._now(now),
        )

    def _now(self, now: float) -> Means:
        """Return what the process works with; it is called on the event loop."""
        frontier, bandwidth = self._frontier, self._bandwidth
        if now - self._means_at >= MEANS_SECONDS:
            self._means_at = now
            if isinstance(frontier, Bounded):
                self._means = self._means._replace(capacity=frontier.capacity(), open_max=frontier.open_max)
            with suppress(OSError):
                self._means = self._means._replace(cpu_seconds=cpu_seconds())
        return self._means._replace(
            loop_seconds=time.thread_time(),
            bandwidth=(bandwidth.used, bandwidth.rate) if bandwidth.is_on else None,
        )


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
