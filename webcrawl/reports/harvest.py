"""What a crawl that looks for certain pages has found, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.reports.heavy import HeavyHitters
from webcrawl.reports.time_line import TimeLine

if TYPE_CHECKING:
    from collections.abc import Mapping

TENTHS = 10
HOSTS = 2_000
"""Hosts that are counted exactly."""


@dataclass(slots=True)
class Harvest:
    """Of pages whose lines in the log say how relevant they are; those that count as found say ``relevant``."""

    judged: int = 0
    relevant: int = 0
    total: float = 0.0
    """The sum of all relevances."""
    tenths: list[int] = field(default_factory=lambda: [0] * TENTHS)
    """Pages by their relevance; 1 is in the last tenth."""
    hosts: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(HOSTS))
    """By pages that were found."""
    time_line: TimeLine = field(default_factory=lambda: TimeLine(2))
    """Pages judged, and pages found."""

    def add(self, line: Mapping[str, Any], host: str) -> None:
        """Count a page. What is no relevance counts as nothing."""
        relevance = line["relevance"]
        if type(relevance) not in (int, float) or not 0 <= relevance <= 1:
            return
        found = line.get("relevant") is True
        self.judged += 1
        self.relevant += found
        self.total += relevance
        self.tenths[min(int(relevance * TENTHS), TENTHS - 1)] += 1
        if found:
            self.hosts.add(host)
        if type(ended := line.get("end")) is float and 0 < ended < 1e11:
            self.time_line.add(ended, 1, int(found))

    @property
    def rate(self) -> float:
        """The share of pages that were found."""
        return self.relevant / self.judged if self.judged else 0.0
