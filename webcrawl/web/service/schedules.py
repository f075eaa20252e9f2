"""A schedule: an order that is started again at times, its runs, and the rules by which it starts.

The rules are pure functions of a schedule and the time. ``timetable.py`` carries them out.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from webcrawl.errors import Problem
from webcrawl.web.service.cron import CronTimes
from webcrawl.web.service.records import NAME_FORM, OrderState, name_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEDULE_NAME_MAX = 46
"""Characters of a name; those of its crawls have the time besides."""
WINDOW_MIN = 60
WINDOW_MAX = 7 * 86_400
RUNS_MAX = 50
"""Runs that a schedule remembers."""
MISSED_MAX = 10_000
"""Missed starts that are counted at a time. Of more, those before the window are not counted."""

GOING = frozenset((OrderState.WAITING, OrderState.RUNNING, OrderState.STOPPING, OrderState.RESTARTING))
"""States of a crawl that is not over."""


class Repetition(StrEnum):
    """What a start of a schedule starts."""

    NEW = "new"
    """A new crawl, with a folder of its own."""
    RESUME = "resume"
    """The crawl that the first start has ordered, which goes on."""


class Overlap(StrEnum):
    """What a start does while a crawl of the schedule is still going."""

    SKIP = "skip"
    QUEUE = "queue"
    """It waits for the end of that crawl. One start waits, further ones are skipped."""


class RunOutcome(StrEnum):
    """What came of a start."""

    STARTING = "starting"
    """It is decided; the order may not have been given yet."""
    STARTED = "started"
    """Its crawl was ordered, and is not over."""
    QUEUED = "queued"
    SKIPPED = "skipped"
    MISSED = "missed"
    """Its time had gone by when the service began, or could start crawls again."""
    REFUSED = "refused"
    """The order was wrong, or the service had no place for it."""
    ENDED = "ended"
    STOPPED = "stopped"
    FAILED = "failed"
    REMOVED = "removed"
    """Its crawl was deleted before it was over."""


OPEN = frozenset((RunOutcome.STARTING, RunOutcome.STARTED, RunOutcome.QUEUED))
"""Outcomes of runs that are not over."""
ENDS = {
    OrderState.ENDED: RunOutcome.ENDED,
    OrderState.STOPPED: RunOutcome.STOPPED,
    OrderState.FAILED: RunOutcome.FAILED,
}


@dataclass(slots=True)
class ScheduledRun:
    """A start of a schedule, or several in a row that were skipped or missed. Times are epoch seconds."""

    planned_at: float
    """The time of the schedule, or that of the command."""
    at: float
    """The time of the decision."""
    outcome: RunOutcome
    reason: str = ""
    crawl: str = ""
    ticket: int = 0
    """The ticket that a crawl which is resumed had at the decision."""
    by: str = ""
    """The operator who started it by hand; empty if its time had come."""
    ended_at: float | None = None
    count: int = 1
    last_at: float | None = None
    """The time of the last one of several."""


@dataclass(frozen=True, slots=True)
class ScheduledOrder:
    """The order that a schedule gives."""

    spider: str
    seeds: tuple[str, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Schedule:
    """An order and its times. Times are epoch seconds."""

    name: str
    order: ScheduledOrder
    cron: str
    zone: str
    repetition: Repetition = Repetition.NEW
    overlap: Overlap = Overlap.SKIP
    window_seconds: int = 3600
    """A start that is late by more is missed."""
    keep: int = 0
    """Crawls that ended or failed which are kept; older ones are deleted. 0: all."""
    is_enabled: bool = True
    created_at: float = 0.0
    created_by: str = ""
    changed_at: float = 0.0
    changed_by: str = ""
    next_at: float | None = None
    """The next start; None if there is none."""
    runs: list[ScheduledRun] = field(default_factory=list)
    """The last runs, the latest one last."""

    @property
    def times(self) -> CronTimes:
        return CronTimes(self.cron, self.zone)

    def plan(self, now: float) -> None:
        """Set the next start to the first one after ``now``."""
        self.next_at = self.times.first_after(now) if self.is_enabled else None

    @property
    def timing(self) -> tuple[str, str, bool]:
        """What its next start depends on."""
        return self.cron, self.zone, self.is_enabled

    def copy(self) -> Schedule:
        """Return a copy whose runs can be changed."""
        return replace(self, runs=[replace(run) for run in self.runs])

    def has_open_runs(self) -> bool:
        """Return whether a run is not over."""
        return any(run.outcome in OPEN for run in self.runs)

    def queued(self) -> ScheduledRun | None:
        """Return the run that waits for the end of the last one."""
        return next((run for run in self.runs if run.outcome is RunOutcome.QUEUED), None)

    def crawl_name(self, planned_at: float) -> str:
        """Return the name of the crawl of a start."""
        if self.repetition is Repetition.RESUME:
            return self.name
        return f"{self.name}-{datetime.fromtimestamp(planned_at, UTC):%Y%m%dT%H%M%SZ}"


@dataclass(frozen=True, slots=True)
class DueStarts:
    """The starts of a schedule whose times have come."""

    planned_at: float | None
    """The one to carry out: the last one that is not late by more than the window."""
    missed: tuple[float, ...]
    """The others."""
    next_at: float | None


def due_starts(schedule: Schedule, now: float) -> DueStarts | None:
    """Return the starts whose times have come; None if none has."""
    if schedule.next_at is None or now < schedule.next_at:
        return None
    times = schedule.times
    come = [schedule.next_at]
    come += islice(takewhile(lambda at: at <= now, times.after(schedule.next_at)), MISSED_MAX)
    if len(come) > MISSED_MAX:
        since = max(come[-1], now - schedule.window_seconds)
        come += takewhile(lambda at: at <= now, times.after(since))
    *missed, last = come
    if now - last > schedule.window_seconds:
        return DueStarts(None, tuple(come), times.first_after(now))
    return DueStarts(last, tuple(missed), times.first_after(now))


def decide(schedule: Schedule, going: str | None) -> tuple[RunOutcome, str]:
    """Return what comes of a start now, with the reason. ``going``: a crawl of the schedule that is not over."""
    if going is None:
        return RunOutcome.STARTING, ""
    if schedule.overlap is Overlap.SKIP:
        return RunOutcome.SKIPPED, f"{going} was still going"
    if schedule.queued() is not None:
        return RunOutcome.SKIPPED, "one start was waiting already"
    return RunOutcome.QUEUED, f"waits for the end of {going}"


def add_run(schedule: Schedule, run: ScheduledRun) -> None:
    """Add a run. One that repeats the last one, which had no crawl, is counted there; old ones are forgotten."""
    last = schedule.runs[-1] if schedule.runs else None
    if (
        last is not None
        and run.outcome in (RunOutcome.SKIPPED, RunOutcome.MISSED)
        and (last.outcome, last.reason, last.by) == (run.outcome, run.reason, run.by)
    ):
        last.count += run.count
        last.last_at = run.planned_at if run.last_at is None else run.last_at
        last.at = run.at
        return
    schedule.runs.append(run)
    over = len(schedule.runs) - RUNS_MAX
    for old in [old for old in schedule.runs if old.outcome not in OPEN][: max(over, 0)]:
        schedule.runs.remove(old)


def missed_run(missed: tuple[float, ...], now: float, reason: str) -> ScheduledRun:
    """Return the record of starts that were missed."""
    first, last = missed[0], missed[-1]
    return ScheduledRun(
        first,
        now,
        RunOutcome.MISSED,
        reason,
        count=len(missed),
        last_at=last if len(missed) > 1 else None,
    )


def schedule_problems(schedule: Schedule) -> list[Problem]:
    """Return what is wrong with the name and the times of a schedule."""
    problems = []
    if name_problem(schedule.name) or len(schedule.name) > SCHEDULE_NAME_MAX:
        form = NAME_FORM.replace("63", str(SCHEDULE_NAME_MAX - 1))
        problems.append(Problem("name", f"must be {form}, not {schedule.name[:80]!r}"))
    try:
        CronTimes("* * * * *", schedule.zone)
    except ValueError as error:
        problems.append(Problem("zone", str(error)))
    try:
        times = CronTimes(schedule.cron, "UTC")
        if times.first_after(schedule.changed_at) is None:
            problems.append(Problem("cron", "names a time that never comes"))
    except ValueError as error:
        problems.append(Problem("cron", str(error)))
    return problems


def as_text(schedule: Schedule) -> bytes:
    """Return a schedule as it is kept."""
    return json.dumps(asdict(schedule), indent=1).encode() + b"\n"


def read(content: bytes) -> Schedule:
    """Read what ``as_text`` wrote. :raises ValueError: it is something else"""
    try:
        values: dict[str, Any] = json.loads(content)
        order = dict(values.pop("order"))
        order["seeds"] = tuple(order["seeds"])
        runs = [ScheduledRun(**{**run, "outcome": RunOutcome(run["outcome"])}) for run in values.pop("runs")]
        values["repetition"] = Repetition(values["repetition"])
        values["overlap"] = Overlap(values["overlap"])
        schedule = Schedule(order=ScheduledOrder(**order), runs=runs, **values)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from error
    if problems := schedule_problems(schedule):
        raise ValueError("; ".join(map(str, problems)))
    return schedule
