"""Which crawl was looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting with which the crawl goes, and what it is here: what is explained may be otherwise there."""

    name: str
    there: str
    here: str


@dataclass(frozen=True, slots=True)
class Crawl:
    """``storage`` is None when none was looked at; ``note`` then says why."""

    storage: str | None = None
    place: str | None = None
    name: str = "no crawl"
    """For people."""
    note: str | None = None
    differs: tuple[Difference, ...] = ()
