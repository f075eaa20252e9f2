"""``runs.jsonl``: the runs of a crawl in its JOBDIR. A line when a run begins, and one when it ends.

The first has ``begun_at`` (epoch seconds), ``spider``, ``worker``, ``seeds``, ``user_agent``, ``version``, and for a
crawl of several workers ``crawl``, its name; the second has ``ended_at`` and ``reason``. A run that was killed has no
second line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from webcrawl.reports import progress_log
from webcrawl.reports.counting import number_in

if TYPE_CHECKING:
    from pathlib import Path

NAME = "runs.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a crawl, from its start to its end. Times are epoch seconds."""

    begun_at: float
    spider: str
    worker: str
    seeds: str = ""
    """The seeds as they were given."""
    user_agent: str = ""
    version: str = ""
    """The version of this program."""
    crawl: str | None = None
    """The name of the crawl that the worker belongs to; None for the crawl of one process."""
    ended_at: float | None = None
    reason: str | None = None
    """Scrapy's close reason."""


def begin(directory: Path, run: Run) -> None:
    """Record the start of a run. :raises OSError: it cannot be written"""
    line = {
        "begun_at": run.begun_at,
        "spider": run.spider,
        "worker": run.worker,
        "seeds": run.seeds,
        "user_agent": run.user_agent,
        "version": run.version,
    }
    progress_log.append(directory / NAME, line if run.crawl is None else line | {"crawl": run.crawl})


def end(directory: Path, ended_at: float, reason: str) -> None:
    """Record the end of the run that began last. :raises OSError: it cannot be written"""
    progress_log.append(directory / NAME, {"ended_at": ended_at, "reason": reason})


def read(directory: Path) -> list[Run]:
    """Return all runs, the last one last; none for a folder without the file. :raises OSError: it cannot be read"""
    runs: list[Run] = []
    for line in progress_log.read(directory, NAME):
        if (begun_at := number_in(line.get("begun_at"))) is not None:
            runs.append(_run(begun_at, line))
        elif (ended_at := number_in(line.get("ended_at"))) is not None and runs:
            runs[-1] = replace(runs[-1], ended_at=ended_at, reason=str(line.get("reason")))
    return runs


def _run(begun_at: float, line: dict[str, Any]) -> Run:
    names = ("spider", "worker", "seeds", "user_agent", "version")
    spider, worker, seeds, user_agent, version = (str(line.get(name) or "") for name in names)
    crawl = line.get("crawl")
    belongs_to = crawl if isinstance(crawl, str) else None
    return Run(begun_at, spider, worker, seeds, user_agent, version, belongs_to)
