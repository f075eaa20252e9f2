"""The table of figures that a process publishes: names, units and meanings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.reports.totals import STATUS_CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping


class Combine(StrEnum):
    """The operation by which the values of several processes become one."""

    SUM = "sum"
    MEAN = "mean"
    """Each process says the same of the whole crawl, at another moment."""
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class SeriesFigure:
    """A figure of a process."""

    name: str
    unit: str
    """The unit of a gauge, or what a counter counts; the series of a counter is in this unit per second."""
    meaning: str
    is_counter: bool = False
    """True if it only grows, from 0 at the start of the process."""
    combine: Combine = Combine.SUM


def _counter(name: str, unit: str, meaning: str) -> SeriesFigure:
    return SeriesFigure(name, unit, meaning, is_counter=True)


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

COUNTERS: tuple[SeriesFigure, ...] = (
    _counter("pages", "pages", "Page fetches that ended with an HTTP response, whatever its status"),
    *(
        _counter(f"pages_{name}", "pages", f"Of these, the ones with status {name}")
        for name in STATUS_CLASSES
    ),
    _counter("bytes", "bytes", "Payload bytes received by all requests"),
    _counter("requests", "requests", "Requests that were sent and have ended, of all kinds, in whatever way"),
    _counter("robots", "requests", "Fetches of robots.txt that ended"),
    _counter("sitemaps", "sitemaps", "Fetches of sitemaps that ended with an HTTP response"),
    _counter("redirects", "responses", "Responses that were redirects"),
    _counter("items", "items", "Items that passed the pipelines"),
    _counter("enqueued", "URLs", "URLs that were put into queues, further tries included"),
    _counter("done", "URLs", "URLs that ended well"),
    _counter("failed", "URLs", "URLs that failed and are not tried again"),
    _counter("refused", "URLs", "URLs and links refused by a rule of scope, by robots.txt or by a limit"),
    _counter("retries", "requests", "Failed requests whose URL went back into its queue"),
    _counter(
        "errors",
        "requests",
        "Errors: requests that ended without a response, without those that were sent again at once",
    ),
    *(_counter(f"errors_{kind}", "requests", f"Of these, the ones of kind {kind}") for kind in KINDS),
    _counter("holds", "times", "Times that the event loop was blocked for longer than LOOP_HELD_SECONDS"),
    _counter("archive_bytes", "bytes", "Bytes written to the archive: WARC files, fetch log and other sinks"),
    _counter("cpu_seconds", "seconds", "CPU time of the process and its children"),
    _counter("loop_seconds", "seconds", "CPU time of the thread of the event loop"),
)
GAUGES: tuple[SeriesFigure, ...] = (
    SeriesFigure("queued", "URLs", "URLs in queues, of the whole crawl", combine=Combine.MEAN),
    SeriesFigure("hosts", "hosts", "Known hosts, of the whole crawl", combine=Combine.MEAN),
    SeriesFigure("parked", "hosts", "Hosts that failed too often and rest", combine=Combine.MEAN),
    SeriesFigure("given_up", "hosts", "Hosts that are no longer contacted in this run", combine=Combine.MEAN),
    SeriesFigure("active", "hosts", "Hosts with URLs that the process works on"),
    SeriesFigure("ready", "hosts", "Active hosts that may be contacted now"),
    SeriesFigure("open", "requests", "Requests that are open"),
    SeriesFigure("open_max", "requests", "Requests that may be open or unsettled: CONCURRENT_REQUESTS"),
    SeriesFigure("unsettled", "URLs", "Requests that have ended, and whose results are not yet stored"),
    SeriesFigure("parsing", "pages", "Pages that wait for a parser, or are being parsed in another process"),
    SeriesFigure(
        "capacity", "pages per second", "Pages per second that the delays of the hosts with URLs allow"
    ),
    SeriesFigure("bandwidth_used", "bytes per second", "Bandwidth used, while there is a limit; 0 without"),
    SeriesFigure(
        "bandwidth_limit",
        "bytes per second",
        "Bandwidth limit of the whole crawl; 0 for none",
        combine=Combine.MAX,
    ),
    SeriesFigure(
        "loop_lag",
        "seconds",
        "The longest delay of the event loop since the last sample",
        combine=Combine.MAX,
    ),
    SeriesFigure("rss", "bytes", "Resident memory of the process"),
    SeriesFigure("rss_all", "bytes", "Resident memory of the process and its children"),
    SeriesFigure("disk_free", "bytes", "Free space on the disk of the JOBDIR", combine=Combine.MIN),
    SeriesFigure("disk_total", "bytes", "Size of the disk of the JOBDIR", combine=Combine.MIN),
    SeriesFigure("crawl_bytes", "bytes", "Size of the JOBDIR, measured every few minutes"),
    SeriesFigure("paused", "", "1 if the crawl is paused", combine=Combine.MAX),
    SeriesFigure("stalled", "", "1 if the storage is full or away", combine=Combine.MAX),
    SeriesFigure("cores", "cores", "CPU cores that the process may use", combine=Combine.MAX),
    SeriesFigure("workers", "processes", "1 for each process that runs"),
)
FIGURES = (*COUNTERS, *GAUGES)
BY_NAME: Mapping[str, SeriesFigure] = {one.name: one for one in FIGURES}

SHARE = SeriesFigure("share", "", "Requests per second, as a part of the capacity")
"""Derived when series are read."""
MAX = ":max"
"""The suffix of the largest mean of 10 seconds within each step of a series."""


def kind_of(word: str) -> str:
    """Return the kind of an error word of the fetch log."""
    return _KIND_OF.get(word, "other")
