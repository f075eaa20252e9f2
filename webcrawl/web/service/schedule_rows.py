"""The rows of schedules, as the API answers them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

from webcrawl.web.service.records import OrderState
from webcrawl.web.service.schedules import Overlap, Repetition, RunOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.web.service.records import CrawlRecord
    from webcrawl.web.service.schedules import Schedule, ScheduledRun

RUNS_SHOWN = 5
"""Runs in the list of all schedules."""
UPCOMING = 5
"""Next starts that are told of one schedule."""


class RunRow(TypedDict):
    """A start of a schedule."""

    planned_at: Annotated[float, "The time of the schedule, or of the command."]
    at: Annotated[float, "The time at which that was decided."]
    outcome: RunOutcome
    reason: str
    crawl: Annotated[str, "The crawl that it has started; empty: none."]
    state: Annotated[
        OrderState | None, "The present state of this crawl; null: it was deleted, or was not started."
    ]
    has_begun: Annotated[bool, "The crawl has a dashboard."]
    by: Annotated[str, "The operator who started it; empty: its time had come."]
    ended_at: float | None
    count: Annotated[int, "Starts in a row that were skipped or missed."]
    last_at: Annotated[float | None, "The planned time of the last one of several."]


class ScheduleRow(TypedDict):
    """A schedule, in whole or in a list."""

    name: str
    cron: str
    zone: str
    meaning: Annotated[str, "The expression in words."]
    enabled: bool
    next_at: Annotated[float | None, "The next start; null: it is paused."]
    repetition: Repetition
    overlap: Overlap
    window_seconds: int
    keep: int
    spider: str
    going: Annotated[str | None, "Its crawl that is not over."]
    created_by: str
    created_at: float
    changed_by: str
    changed_at: float
    runs: Annotated[list[RunRow], "The last runs, the latest one first."]
    seeds: NotRequired[list[str]]
    arguments: NotRequired[dict[str, str]]
    settings: NotRequired[dict[str, str]]
    upcoming: NotRequired[Annotated[list[float], "The next starts."]]


def schedule_row(
    schedule: Schedule,
    going: str | None,
    find: Callable[[str], CrawlRecord | None],
    now: float,
    *,
    whole: bool = False,
) -> ScheduleRow:
    """Return a schedule with its last runs, the latest one first. ``going``: its crawl that is not over. ``find``
    returns the record of a crawl. ``whole``: with its order, all runs and the next starts."""
    runs = schedule.runs if whole else schedule.runs[-RUNS_SHOWN:]
    row: ScheduleRow = {
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "meaning": schedule.times.meaning,
        "enabled": schedule.is_enabled,
        "next_at": schedule.next_at,
        "repetition": schedule.repetition,
        "overlap": schedule.overlap,
        "window_seconds": schedule.window_seconds,
        "keep": schedule.keep,
        "spider": schedule.order.spider,
        "going": going,
        "created_by": schedule.created_by,
        "created_at": schedule.created_at,
        "changed_by": schedule.changed_by,
        "changed_at": schedule.changed_at,
        "runs": [_run_row(run, find(run.crawl) if run.crawl else None) for run in reversed(runs)],
    }
    if whole:
        order = schedule.order
        row["seeds"] = list(order.seeds)
        row["arguments"] = dict(order.arguments)
        row["settings"] = dict(order.settings)
        row["upcoming"] = list(islice(schedule.times.after(now), UPCOMING)) if schedule.is_enabled else []
    return row


def _run_row(run: ScheduledRun, record: CrawlRecord | None) -> RunRow:
    return {
        "planned_at": run.planned_at,
        "at": run.at,
        "outcome": run.outcome,
        "reason": run.reason,
        "crawl": run.crawl,
        "state": None if record is None else record.state,
        "has_begun": record is not None and record.has_begun,
        "by": run.by,
        "ended_at": run.ended_at,
        "count": run.count,
        "last_at": run.last_at,
    }
