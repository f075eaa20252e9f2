"""Reads the numbers of the running crawl where they are kept: in the frontier behind the scheduler."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from webcrawl.crawl.context import context_of
from webcrawl.reports.pace import Limits, Pace, Reading

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration
    from webcrawl.frontier.tally import Snapshot, Tally


@runtime_checkable
class Countable(Protocol):
    """A frontier, as far as its numbers go."""

    @property
    def tally(self) -> Tally: ...

    def snapshot(self) -> Snapshot: ...


def frontier_of(crawler: Crawler) -> Countable | None:
    """The frontier of a crawl; None when its scheduler is another one, or when the spider is not open."""
    found = getattr(crawler.engine.scheduler, "frontier", None)
    return found if isinstance(found, Countable) else None


def directory_of(crawler: Crawler) -> Path | None:
    """The crawl's folder; None when nothing of it is kept."""
    jobdir = context_of(crawler).jobdir
    return None if jobdir is None else jobdir.path


class MetricsReader:
    """Gives the figures of the moment. Each display or log has its own, made when the spider opens."""

    def __init__(self, frontier: Countable, configuration: Configuration) -> None:
        self._frontier = frontier
        limits = Limits(configuration.closespider_pagecount, configuration.closespider_timeout)
        self._pace = Pace(time.monotonic(), limits)

    def read(self) -> Reading:
        """The figures of this moment; a few attribute look-ups and one Snapshot."""
        frontier = self._frontier
        return self._pace.read(time.monotonic(), frontier.tally, frontier.snapshot(), time.time())
