"""The rows of schedules, as the API answers them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.web.service.records import CrawlRecord
    from webcrawl.web.service.schedules import Schedule, ScheduledRun

RUNS_SHOWN = 5
"""Runs in the list of all schedules."""
UPCOMING = 5
"""Next starts that are told of one schedule."""


def schedule_row(
    schedule: Schedule,
    going: str | None,
    find: Callable[[str], CrawlRecord | None],
    now: float,
    *,
    whole: bool = False,
) -> dict[str, Any]:
    """Return a schedule with its last runs, the latest one first. ``going``: its crawl that is not over. ``find``
    returns the record of a crawl. ``whole``: with its order, all runs and the next starts."""
    runs = schedule.runs if whole else schedule.runs[-RUNS_SHOWN:]
    row = {
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "meaning": schedule.times.meaning,
        "enabled": schedule.is_enabled,
        "next_at": schedule.next_at,
        "repetition": str(schedule.repetition),
        "overlap": str(schedule.overlap),
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
        row |= {
            "seeds": list(order.seeds),
            "arguments": dict(order.arguments),
            "settings": dict(order.settings),
            "upcoming": list(islice(schedule.times.after(now), UPCOMING)) if schedule.is_enabled else [],
        }
    return row


def _run_row(run: ScheduledRun, record: CrawlRecord | None) -> dict[str, Any]:
    return {
        "planned_at": run.planned_at,
        "at": run.at,
        "outcome": str(run.outcome),
        "reason": run.reason,
        "crawl": run.crawl,
        "state": None if record is None else str(record.state),
        "has_begun": record is not None and record.has_begun,
        "by": run.by,
        "ended_at": run.ended_at,
        "count": run.count,
        "last_at": run.last_at,
    }
