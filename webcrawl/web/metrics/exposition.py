"""Figures as the text that Prometheus reads, in its own format or in OpenMetrics.

The library is imported by the functions that use it: not every environment has it, and a dashboard goes without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.web.metrics import names
from webcrawl.web.metrics.names import Metric, MetricType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.core import Metric as Family

OPENMETRICS = "application/openmetrics-text"
WORKERS_MAX = 256
"""Workers whose figures are exposed; further ones are only counted."""
LABEL_MAX = 100
"""Characters of a worker's name in a label."""


@dataclass(frozen=True, slots=True)
class WorkerView:
    """The figures of one process. Times are epoch seconds."""

    name: str
    figures: Mapping[str, float]
    begun_at: float | None = None
    age: float | None = None
    """The age of its figures, in seconds."""


@dataclass(frozen=True, slots=True)
class CrawlMetrics:
    """The figures of a crawl that are known."""

    is_up: bool
    """False: nothing could be read."""
    workers: Sequence[WorkerView] = ()
    crawl: Mapping[str, float] = field(default_factory=dict)
    """Figures of the whole crawl: queued, hosts, parked, given_up and, at the dashboard, done, failed, refused."""
    version: str = ""
    """The version of the webcrawl that answers."""


def exposed(view: CrawlMetrics, accept: str) -> tuple[bytes, str]:
    """Return the text of a view and its content type: OpenMetrics if a request's header Accept has it.

    :raises ImportError: prometheus-client is not installed
    """
    from prometheus_client.exposition import choose_encoder

    # The rest of the header may be anything, and the library fails on versions that are none.
    encode, content_type = choose_encoder(OPENMETRICS if OPENMETRICS in accept else "")
    return encode(_Collected(list(families(view)))), content_type


def families(view: CrawlMetrics) -> Iterator[Family]:
    """Yield all metric families, those without samples too."""
    workers = _named(view.workers)
    for metric in names.OF_WORKERS:
        family = _family(metric)
        for label, worker in workers:
            for value, figure in metric.figures.items():
                if (number := worker.figures.get(figure)) is not None:
                    family.add_metric([label] if metric.label is None else [label, value], number)
        yield family
    for metric, numbers in (
        (names.START_TIME, [worker.begun_at for _, worker in workers]),
        (names.AGE, [worker.age for _, worker in workers]),
    ):
        family = _family(metric)
        for (label, _), number in zip(workers, numbers, strict=True):
            if number is not None:
                family.add_metric([label], number)
        yield family
    for metric in (*names.OF_CRAWL, names.URLS):
        family = _family(metric)
        for value, figure in metric.figures.items():
            if (number := view.crawl.get(figure)) is not None:
                family.add_metric([] if metric.label is None else [value], number)
        yield family
    yield _single(names.WORKERS, float(len(view.workers)) if view.is_up else None)
    yield _single(names.UP, float(view.is_up))
    family = _family(names.BUILD_INFO)
    family.add_metric([view.version], 1.0)
    yield family


class _Collected:
    """The collector that the encoders of prometheus_client take."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Family]:
        return self._families


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    kind = CounterMetricFamily if metric.kind is MetricType.COUNTER else GaugeMetricFamily
    return kind(metric.name.removesuffix("_total"), metric.meaning, labels=names.label_names(metric))


def _single(metric: Metric, value: float | None) -> Family:
    family = _family(metric)
    if value is not None:
        family.add_metric([], value)
    return family


def _named(workers: Sequence[WorkerView]) -> list[tuple[str, WorkerView]]:
    """Return workers that published figures, each with a label of its own: samples must differ."""
    found: dict[str, WorkerView] = {}
    for worker in workers[:WORKERS_MAX]:
        name, number = worker.name[:LABEL_MAX], 1
        while (label := name if number == 1 else f"{name}~{number}") in found:
            number += 1
        found[label] = worker
    return list(found.items())
