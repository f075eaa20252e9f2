"""Settings of the metrics endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webcrawl.config.checks import Read, missing_packages
from webcrawl.config.dashboard import listening_host
from webcrawl.config.readers import whole
from webcrawl.config.setting import setting
from webcrawl.errors import Problem

LIBRARY = "prometheus_client"


@dataclass(frozen=True, kw_only=True)
class MetricsSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    metrics_port: int = setting(
        whole(0, 65_535, zero="none"),
        0,
        "",
        "Port at which a process of the crawl answers `/metrics` (Prometheus), `/healthz` and `/readyz`.",
    )
    metrics_host: str = setting(
        listening_host(), "127.0.0.1", "", "Address on which the process listens for these requests."
    )


def metrics_contradictions(read: Read) -> Iterator[Problem]:
    """Yield a problem if there are to be metrics, and their library is not installed."""
    is_on = "METRICS_PORT" in read and read["METRICS_PORT"]()
    if is_on and (why := missing_packages([LIBRARY])) is not None:
        yield Problem("METRICS_PORT", why)
