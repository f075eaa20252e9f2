"""How a crawl stands, for whoever looks at it from outside: the common words of all backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.frontier.backend import Command, Counts


@dataclass(frozen=True, slots=True)
class Worker:
    """A process of the crawl. Times are epoch seconds by the crawl's own clock."""

    name: str
    started_at: float | None
    heard_at: float
    """Its last sign of life."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What it told of itself; see ``SharedBackend.pulse``."""
    exclusions: str = ""
    """The version of the exclusion list in force there; empty where there is none, or where it was not told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A crawl at one moment. A crawl that runs goes on meanwhile, so figures of one time may be of two moments."""

    now: float
    """The moment, by the crawl's own clock."""
    counts: Counts
    active_hosts: int
    workers: list[Worker]
    """In the order in which they started."""
    command: Command | None = None
    """What the operator wants; None for a crawl of one process."""
