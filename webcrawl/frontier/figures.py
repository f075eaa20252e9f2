"""The table of figures: the numbers about its work that a process of a crawl shows to others.

A row says what a figure is, how it is read, how the values of several processes become one, and where it is shown.
All rows are published and have time series, which the dashboard draws (``features/timeseries``). Those with a
``metric`` are in ``/metrics``, those that are logged in ``progress.jsonl``, and those with ``stats`` in Scrapy's
statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from webcrawl.frontier.tally import PAUSED
from webcrawl.politeness import refusals
from webcrawl.robots.purposes import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from webcrawl.frontier.tally import Snapshot, Tally


class Combine(StrEnum):
    """The operation by which the values of several processes become one."""

    SUM = "sum"
    MEAN = "mean"
    """Each process says the same of the whole crawl, at another moment."""
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a process."""

    name: str
    unit: str
    """The unit of a gauge, or what a counter counts; the series of a counter is in this unit per second."""
    meaning: str
    is_counter: bool = False
    """True if it only grows, from 0 at the start of the process."""
    combine: Combine = Combine.SUM
    tally: Callable[[Tally], float] | None = None
    snapshot: Callable[[Snapshot], float] | None = None
    """Read it; of a figure with neither, the feature that publishes the figures measures it."""
    metric: str = ""
    """The name in Prometheus, without prefix and without ``_total``; empty for none."""
    value: str = ""
    """The value of the metric's label, if it has one: see ``web/metrics/names.py``."""
    help: str = ""
    """The meaning that ``/metrics`` has, if it is another."""
    is_logged: bool = False
    """True if ``progress.jsonl`` has it."""
    stats: tuple[str, ...] = ()
    """The names in Scrapy's statistics; ``{storage}`` stands for Scrapy's word for that of the queues."""


STATUS_CLASSES = ("2xx", "3xx", "4xx", "5xx", "other")


def status_class(status: int) -> str:
    """Return the class of an HTTP status."""
    name = f"{status // 100}xx"
    return name if name in STATUS_CLASSES else "other"


def by_class(statuses: Mapping[int, int]) -> dict[str, int]:
    """Return the figures of pages by class of status: ``pages_2xx`` and so on."""
    numbers = {f"pages_{name}": 0 for name in STATUS_CLASSES}
    for status, number in statuses.items():
        numbers[f"pages_{status_class(status)}"] += number
    return numbers


ERROR_KINDS = {
    "dns": ("dns",),
    "connect": ("connection-refused", "unreachable"),
    "timeout": ("timeout",),
    "tls": ("tls",),
    "reset": ("reset", "empty"),
    "protocol": ("protocol", "login", "data-connection"),
    "refused": ("private", "unsupported"),
    "cancelled": ("cancelled",),
}
"""The kinds of failed requests, and the error words of the fetch log that each has. All others are ``other``."""
_KIND_OF = {word: kind for kind, words in ERROR_KINDS.items() for word in words}
KINDS = (*ERROR_KINDS, "other")


def error_kind(word: str) -> str:
    """Return the kind of an error word of the fetch log."""
    return _KIND_OF.get(word, "other")


def _count_pages(name: str) -> Callable[[Tally], float]:
    return lambda tally: sum(n for status, n in tally.statuses.items() if status_class(status) == name)


def _count_errors(kind: str) -> Callable[[Tally], float]:
    return lambda tally: sum(n for word, n in tally.errors.items() if error_kind(word) == kind)


def _count_refusals(kind: str) -> Callable[[Tally], float]:
    return lambda tally: tally.site_refusals[kind]


def _count_disallowed(purpose: str) -> Callable[[Tally], float]:
    return lambda tally: tally.disallowed[purpose]


def _counter(
    name: str,
    unit: str,
    meaning: str,
    field: str = "",
    *,
    tally: Callable[[Tally], float] | None = None,
    **more: Any,
) -> Figure:
    """Return a counter; ``field``: that of the tally which has it."""
    read = attrgetter(field) if field else tally
    return Figure(name=name, unit=unit, meaning=meaning, is_counter=True, tally=read, **more)


def _gauge(
    name: str,
    unit: str,
    meaning: str,
    field: str = "",
    *,
    snapshot: Callable[[Snapshot], float] | None = None,
    **more: Any,
) -> Figure:
    """Return a gauge; ``field``: that of the snapshot which has it."""
    read = attrgetter(field) if field else snapshot
    return Figure(name=name, unit=unit, meaning=meaning, snapshot=read, **more)


COUNTERS: tuple[Figure, ...] = (
    _counter(
        "pages",
        "pages",
        "Page fetches that ended with an HTTP response, whatever its status",
        "pages",
        is_logged=True,
    ),
    *(
        _counter(
            f"pages_{name}",
            "pages",
            f"Of these, the ones with status {name}",
            tally=_count_pages(name),
            metric="pages",
            value=name,
            is_logged=True,
        )
        for name in STATUS_CLASSES
    ),
    _counter(
        "bytes",
        "bytes",
        "Payload bytes received by all requests",
        "bytes",
        metric="received_bytes",
        is_logged=True,
    ),
    _counter(
        "requests",
        "requests",
        "Requests that were sent and have ended, of all kinds, in whatever way",
        "requests",
        metric="requests",
        help="Requests of all kinds that were sent and have ended.",
    ),
    _counter("robots", "requests", "Fetches of robots.txt that ended", "robots", metric="robots_fetches"),
    _counter(
        "sitemaps",
        "sitemaps",
        "Fetches of sitemaps that ended with an HTTP response",
        "sitemaps",
        metric="sitemaps",
    ),
    _counter(
        "tls_connections",
        "connections",
        "TLS connections on which a request was sent",
        metric="tls_connections",
    ),
    _counter(
        "tls_resumed",
        "connections",
        "Of these, the ones that resumed a session",
        metric="tls_resumed_connections",
        help="TLS connections that resumed a session.",
    ),
    _counter("redirects", "responses", "Responses that were redirects", "redirects", metric="redirects"),
    _counter("items", "items", "Items that passed the pipelines", metric="items"),
    _counter(
        "enqueued",
        "URLs",
        "URLs that were put into queues, further tries included",
        "enqueued",
        metric="enqueued_urls",
        stats=("scheduler/enqueued", "scheduler/enqueued/{storage}"),
    ),
    _counter("done", "URLs", "URLs that ended well", "done", metric="ended_urls", value="done"),
    _counter(
        "failed",
        "URLs",
        "URLs that failed and are not tried again",
        "failures",
        metric="ended_urls",
        value="failed",
    ),
    _counter(
        "refused",
        "URLs",
        "URLs and links refused by a rule of scope, by robots.txt or by a limit",
        "refusals",
        metric="ended_urls",
        value="refused",
    ),
    _counter(
        "retries",
        "requests",
        "Failed requests whose URL went back into its queue",
        "retries",
        metric="retries",
    ),
    _counter(
        "errors",
        "requests",
        "Errors: requests that ended without a response, without those that were sent again at once",
        tally=lambda tally: tally.errors.total(),
        is_logged=True,
    ),
    *(
        _counter(
            f"errors_{kind}",
            "requests",
            f"Of these, the ones of kind {kind}",
            tally=_count_errors(kind),
            metric="request_errors",
            value=kind,
        )
        for kind in KINDS
    ),
    *(
        _counter(
            f"site_refusals_{kind}",
            "responses",
            f"Responses by which sites refused, of kind {kind}",
            tally=_count_refusals(kind),
            metric="site_refusals",
            value=kind,
        )
        for kind in refusals.KINDS
    ),
    _counter(
        "refusing_hosts",
        "hosts",
        "Hosts that refused the crawler until they were left alone for a day",
        "refusing_hosts",
        metric="refusing_hosts",
        is_logged=True,
    ),
    *(
        _counter(
            f"disallowed_{purpose}",
            "pages",
            f"Pages that their sites do not allow to be used for {purpose}",
            tally=_count_disallowed(purpose),
            metric="pages_disallowed",
            value=purpose,
        )
        for purpose in PURPOSES
    ),
    _counter(
        "withheld",
        "pages",
        "Pages that were withheld, since they may not be used for USAGE_PURPOSES",
        "withheld",
        metric="pages_withheld",
        is_logged=True,
    ),
    _counter(
        "holds",
        "times",
        "Times that the event loop was blocked for longer than LOOP_HELD_SECONDS",
        "holds",
        metric="event_loop_holds",
        help="Times that the event loop was blocked for too long.",
        is_logged=True,
    ),
    _counter(
        "archive_bytes",
        "bytes",
        "Bytes written to the archive: WARC files, fetch log and other sinks",
        metric="archive_written_bytes",
        help="Bytes written to WARC files, fetch log and sinks.",
    ),
    _counter("cpu_seconds", "seconds", "CPU time of the process and its children", metric="cpu_seconds"),
    _counter(
        "loop_seconds", "seconds", "CPU time of the thread of the event loop", metric="event_loop_cpu_seconds"
    ),
)
GAUGES: tuple[Figure, ...] = (
    _gauge(
        "queued",
        "URLs",
        "URLs in queues, of the whole crawl",
        "queued",
        combine=Combine.MEAN,
        metric="queued_urls",
        is_logged=True,
    ),
    _gauge(
        "hosts",
        "hosts",
        "Known hosts, of the whole crawl",
        "known_hosts",
        combine=Combine.MEAN,
        metric="known_hosts",
        is_logged=True,
    ),
    _gauge(
        "parked",
        "hosts",
        "Hosts that failed too often and rest",
        "parked_hosts",
        combine=Combine.MEAN,
        metric="parked_hosts",
        help="Hosts that failed too often and rest, of the whole crawl.",
    ),
    _gauge(
        "given_up",
        "hosts",
        "Hosts that are no longer contacted in this run",
        "given_up_hosts",
        combine=Combine.MEAN,
        metric="given_up_hosts",
        help="Hosts that are no longer contacted in this run, of the whole crawl.",
    ),
    _gauge(
        "active",
        "hosts",
        "Hosts with URLs that the process works on",
        "active_hosts",
        metric="hosts",
        value="active",
        is_logged=True,
    ),
    _gauge(
        "ready",
        "hosts",
        "Active hosts that may be contacted now",
        "ready_hosts",
        metric="hosts",
        value="ready",
        is_logged=True,
    ),
    _gauge("open", "requests", "Requests that are open", "in_flight", metric="open_requests", is_logged=True),
    _gauge(
        "open_max",
        "requests",
        "Requests that may be open or unsettled: CONCURRENT_REQUESTS",
        metric="open_requests_max",
    ),
    _gauge(
        "unsettled",
        "URLs",
        "Requests that have ended, and whose results are not yet stored",
        "unsettled",
        metric="unsettled_urls",
    ),
    _gauge(
        "parsing",
        "pages",
        "Pages that wait for a parser, or are being parsed in another process",
        metric="parsing_pages",
        help="Pages that wait for another process to parse them, or are there.",
    ),
    _gauge(
        "capacity",
        "pages per second",
        "Pages per second that the delays of the hosts with URLs allow",
        metric="politeness_capacity_pages_per_second",
    ),
    _gauge(
        "bandwidth_used",
        "bytes per second",
        "Bandwidth used, while there is a limit; 0 without",
        metric="bandwidth_used_bytes_per_second",
        help="Bandwidth used while there is a limit; 0 without.",
    ),
    _gauge(
        "bandwidth_limit",
        "bytes per second",
        "Bandwidth limit of the whole crawl; 0 for none",
        combine=Combine.MAX,
        metric="bandwidth_limit_bytes_per_second",
    ),
    _gauge(
        "loop_lag",
        "seconds",
        "The longest delay of the event loop since the last sample",
        combine=Combine.MAX,
        metric="event_loop_lag_seconds",
        help="Longest delay of the event loop in the last two seconds.",
    ),
    _gauge("rss", "bytes", "Resident memory of the process", metric="resident_memory_bytes"),
    _gauge(
        "rss_all",
        "bytes",
        "Resident memory of the process and its children",
        metric="resident_memory_all_bytes",
    ),
    _gauge(
        "disk_free",
        "bytes",
        "Free space on the disk of the JOBDIR",
        combine=Combine.MIN,
        metric="disk_free_bytes",
    ),
    _gauge(
        "disk_total", "bytes", "Size of the disk of the JOBDIR", combine=Combine.MIN, metric="disk_size_bytes"
    ),
    _gauge("crawl_bytes", "bytes", "Size of the JOBDIR, measured every few minutes", metric="jobdir_bytes"),
    _gauge(
        "paused",
        "",
        "1 if the crawl is paused",
        snapshot=lambda snapshot: float(snapshot.stalled == PAUSED),
        combine=Combine.MAX,
        metric="paused",
        help="1 while the crawl is paused.",
    ),
    _gauge(
        "stalled",
        "",
        "1 if the storage is full or away",
        snapshot=lambda snapshot: float(snapshot.stalled not in (None, PAUSED)),
        combine=Combine.MAX,
        metric="stalled",
        help="1 while the storage is full or cannot be reached.",
    ),
    _gauge(
        "opens_at",
        "seconds",
        "The time (epoch seconds) at which the hours begin for which the crawl waits; 0 if it waits for none",
        snapshot=lambda snapshot: snapshot.opens_at or 0.0,
        combine=Combine.MAX,
        metric="opens_at_seconds",
        help="When the hours begin for which the crawl waits, in epoch seconds; 0 if it waits for none.",
    ),
    _gauge("cores", "cores", "CPU cores that the process may use", combine=Combine.MAX),
    _gauge("workers", "processes", "1 for each process that runs", snapshot=lambda snapshot: 1),
)
FIGURES = (*COUNTERS, *GAUGES)
BY_NAME: Mapping[str, Figure] = {figure.name: figure for figure in FIGURES}
LOGGED = tuple(figure for figure in FIGURES if figure.is_logged)
"""The figures of ``progress.jsonl``."""

ONLY_STATISTICS: tuple[Figure, ...] = (
    _counter(
        "dequeued",
        "URLs",
        "URLs that were taken out of queues to be requested, without those of robots.txt",
        "dequeued",
        stats=("scheduler/dequeued", "scheduler/dequeued/{storage}"),
    ),
    _counter(
        "known",
        "URLs",
        "Links and Requests to URLs that were known already",
        "known",
        stats=("dupefilter/filtered",),
    ),
)
"""Figures that are not published: Scrapy's statistics alone have them."""


def read_figures(figures: Iterable[Figure], tally: Tally, snapshot: Snapshot) -> dict[str, float]:
    """Return the present values of the figures that the frontier has, by name."""
    values: dict[str, float] = {}
    for figure in figures:
        if figure.tally is not None:
            values[figure.name] = figure.tally(tally)
        elif figure.snapshot is not None:
            values[figure.name] = figure.snapshot(snapshot)
    return values
