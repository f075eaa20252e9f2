"""The table of metrics: names, types, labels and meanings, and the figures that each is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.features.timeseries.figures import KINDS
from webcrawl.reports.totals import STATUS_CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "webcrawl"


class MetricType(StrEnum):
    """The type of a metric, as Prometheus names it."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric family."""

    name: str
    """The name as in a query: a counter's ends in ``_total``."""
    kind: MetricType
    meaning: str
    figures: Mapping[str, str] = field(default_factory=dict)
    """The name of a figure by the value of ``label``; without a label, by the empty text."""
    label: str | None = None
    """The further label beside ``worker``, of which the values are those of ``figures``."""

    @property
    def labels(self) -> tuple[str, ...]:
        return ("worker",) if self.label is None else ("worker", self.label)


def _counter(name: str, meaning: str, figure: str) -> Metric:
    return Metric(f"{PREFIX}_{name}_total", MetricType.COUNTER, meaning, {"": figure})


def _gauge(name: str, meaning: str, figure: str) -> Metric:
    return Metric(f"{PREFIX}_{name}", MetricType.GAUGE, meaning, {"": figure})


OF_WORKERS: tuple[Metric, ...] = (
    Metric(
        f"{PREFIX}_pages_total",
        MetricType.COUNTER,
        "Page fetches that ended with an HTTP response, by class of status.",
        {name: f"pages_{name}" for name in STATUS_CLASSES},
        "status",
    ),
    _counter("received_bytes", "Payload bytes received by all requests.", "bytes"),
    _counter("requests", "Requests of all kinds that were sent and have ended.", "requests"),
    Metric(
        f"{PREFIX}_request_errors_total",
        MetricType.COUNTER,
        "Errors: requests that ended without a response, without those that were sent again at once, by kind.",
        {kind: f"errors_{kind}" for kind in KINDS},
        "kind",
    ),
    _counter("robots_fetches", "Fetches of robots.txt that ended.", "robots"),
    _counter("sitemaps", "Fetches of sitemaps that ended with an HTTP response.", "sitemaps"),
    _counter("redirects", "Responses that were redirects.", "redirects"),
    _counter("items", "Items that passed the pipelines.", "items"),
    _counter("enqueued_urls", "URLs that were put into queues, further tries included.", "enqueued"),
    Metric(
        f"{PREFIX}_ended_urls_total",
        MetricType.COUNTER,
        "URLs that ended: done, failed for good, or refused by a rule.",
        {"done": "done", "failed": "failed", "refused": "refused"},
        "state",
    ),
    _counter("retries", "Failed requests whose URL went back into its queue.", "retries"),
    _counter("event_loop_holds", "Times that the event loop was blocked for too long.", "holds"),
    _counter("archive_written_bytes", "Bytes written to WARC files, fetch log and sinks.", "archive_bytes"),
    _counter("cpu_seconds", "CPU time of the process and its children.", "cpu_seconds"),
    _counter("event_loop_cpu_seconds", "CPU time of the thread of the event loop.", "loop_seconds"),
    Metric(
        f"{PREFIX}_hosts",
        MetricType.GAUGE,
        "Hosts with URLs that a process works on, and those of them that may be contacted now.",
        {"active": "active", "ready": "ready"},
        "state",
    ),
    _gauge("open_requests", "Requests that are open.", "open"),
    _gauge("open_requests_max", "Requests that may be open or unsettled: CONCURRENT_REQUESTS.", "open_max"),
    _gauge("unsettled_urls", "Requests that have ended, and whose results are not yet stored.", "unsettled"),
    _gauge("parsing_pages", "Pages that wait for another process to parse them, or are there.", "parsing"),
    _gauge(
        "politeness_capacity_pages_per_second",
        "Pages per second that the delays of the hosts with URLs allow.",
        "capacity",
    ),
    _gauge(
        "bandwidth_used_bytes_per_second",
        "Bandwidth used while there is a limit; 0 without.",
        "bandwidth_used",
    ),
    _gauge(
        "bandwidth_limit_bytes_per_second",
        "Bandwidth limit of the whole crawl; 0 for none.",
        "bandwidth_limit",
    ),
    _gauge("event_loop_lag_seconds", "Longest delay of the event loop in the last two seconds.", "loop_lag"),
    _gauge("resident_memory_bytes", "Resident memory of the process.", "rss"),
    _gauge("resident_memory_all_bytes", "Resident memory of the process and its children.", "rss_all"),
    _gauge("disk_free_bytes", "Free space on the disk of the JOBDIR.", "disk_free"),
    _gauge("disk_size_bytes", "Size of the disk of the JOBDIR.", "disk_total"),
    _gauge("jobdir_bytes", "Size of the JOBDIR, measured every few minutes.", "crawl_bytes"),
    _gauge("paused", "1 while the crawl is paused.", "paused"),
    _gauge("stalled", "1 while the storage is full or cannot be reached.", "stalled"),
)
"""The metrics of each process. A process that publishes no such figure has no such sample."""

START_TIME = Metric(
    f"{PREFIX}_worker_start_time_seconds", MetricType.GAUGE, "Start of the process, in epoch seconds."
)
AGE = Metric(
    f"{PREFIX}_worker_figures_age_seconds",
    MetricType.GAUGE,
    "Age of the figures of the process when they were read.",
)

QUEUED = Metric(
    f"{PREFIX}_queued_urls", MetricType.GAUGE, "URLs in queues, of the whole crawl.", {"": "queued"}
)
KNOWN_HOSTS = Metric(
    f"{PREFIX}_known_hosts", MetricType.GAUGE, "Known hosts, of the whole crawl.", {"": "hosts"}
)
PARKED = Metric(
    f"{PREFIX}_parked_hosts",
    MetricType.GAUGE,
    "Hosts that failed too often and rest, of the whole crawl.",
    {"": "parked"},
)
GIVEN_UP = Metric(
    f"{PREFIX}_given_up_hosts",
    MetricType.GAUGE,
    "Hosts that are no longer contacted in this run, of the whole crawl.",
    {"": "given_up"},
)
OF_CRAWL = (QUEUED, KNOWN_HOSTS, PARKED, GIVEN_UP)
"""Metrics of the whole crawl, without the label ``worker``: each process says the same."""

URLS = Metric(
    f"{PREFIX}_urls",
    MetricType.GAUGE,
    "URLs of the whole crawl by state; only at the dashboard.",
    {name: name for name in ("done", "failed", "refused")},
    "state",
)
WORKERS = Metric(f"{PREFIX}_workers", MetricType.GAUGE, "Processes that run; at METRICS_PORT always 1.")
UP = Metric(
    f"{PREFIX}_up",
    MetricType.GAUGE,
    "1 if the figures could be read; 0 if the crawl or its storage does not answer.",
)
BUILD_INFO = Metric(
    f"{PREFIX}_build_info", MetricType.GAUGE, "Always 1; the label is the version of webcrawl."
)

ALL = (*OF_WORKERS, START_TIME, AGE, *OF_CRAWL, URLS, WORKERS, UP, BUILD_INFO)


def labels_of(metric: Metric) -> tuple[str, ...]:
    """Return the labels of a metric of the table."""
    if metric in OF_WORKERS or metric in (START_TIME, AGE):
        return metric.labels
    if metric is BUILD_INFO:
        return ("version",)
    return () if metric.label is None else (metric.label,)
