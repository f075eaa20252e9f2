"""The metrics that Prometheus reads: those of the table of figures, and a few of the endpoint itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.frontier.figures import FIGURES, Combine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webcrawl.frontier.figures import Figure

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


LABELLED: Mapping[str, tuple[str, str]] = {
    "pages": ("status", "Page fetches that ended with an HTTP response, by class of status."),
    "request_errors": (
        "kind",
        "Errors: requests that ended without a response, without those that were sent again at once, by kind.",
    ),
    "site_refusals": ("kind", "Responses by which sites refused, by kind."),
    "pages_disallowed": ("purpose", "Pages that their sites do not allow to be used, by purpose."),
    "ended_urls": ("state", "URLs that ended: done, failed for good, or refused by a rule."),
    "hosts": (
        "state",
        "Hosts with URLs that a process works on, and those of them that may be contacted now.",
    ),
}
"""The further label, and the meaning, of metrics that several figures make."""


def _metrics(figures: Iterable[Figure]) -> Iterator[Metric]:
    """Yield the metrics of some figures, in their order."""
    members: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.metric:
            members.setdefault(figure.metric, []).append(figure)
    for name, some in members.items():
        first = some[0]
        label, meaning = LABELLED.get(name, (None, first.help or f"{first.meaning}."))
        kind = MetricType.COUNTER if first.is_counter else MetricType.GAUGE
        suffix = "_total" if first.is_counter else ""
        values = {figure.value: figure.name for figure in some}
        yield Metric(f"{PREFIX}_{name}{suffix}", kind, meaning, values, label)


OF_WORKERS = tuple(_metrics(figure for figure in FIGURES if figure.combine is not Combine.MEAN))
"""The metrics of each process. A process that publishes no such figure has no such sample."""

START_TIME = Metric(
    f"{PREFIX}_worker_start_time_seconds", MetricType.GAUGE, "Start of the process, in epoch seconds."
)
AGE = Metric(
    f"{PREFIX}_worker_figures_age_seconds",
    MetricType.GAUGE,
    "Age of the figures of the process when they were read.",
)

OF_CRAWL = tuple(_metrics(figure for figure in FIGURES if figure.combine is Combine.MEAN))
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


def label_names(metric: Metric) -> tuple[str, ...]:
    """Return the labels of a metric of the table."""
    if metric in OF_WORKERS or metric in (START_TIME, AGE):
        return metric.labels
    if metric is BUILD_INFO:
        return ("version",)
    return () if metric.label is None else (metric.label,)
