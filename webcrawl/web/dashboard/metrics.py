"""The metrics of a crawl, from the state that all viewers of a dashboard share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.reports.standing import ProcessState
from webcrawl.web.metrics import names
from webcrawl.web.metrics.exposition import CrawlMetrics, WorkerView

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNTS = tuple(figure for metric in (*names.OF_CRAWL, names.URLS) for figure in metric.figures.values())


def metrics_view(state: Mapping[str, Any]) -> CrawlMetrics:
    """Return the view of the object of the endpoint ``crawl``. A worker of an older version publishes few figures."""
    now, counts = state["now"], state["counts"]
    return CrawlMetrics(
        is_up=True,
        workers=[
            WorkerView(
                row["name"], row["figures"], row["started_at"], round(max(now - row["heartbeat_at"], 0.0), 3)
            )
            for row in state["workers"]
            if row["state"] != ProcessState.LOST
        ],
        version=state["version"],
        crawl={name: counts[name] for name in _COUNTS if counts.get(name) is not None},
    )
