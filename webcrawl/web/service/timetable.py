"""The schedules of a service: carries out what ``schedules.py`` decides, by orders to the supervisor.

A start takes three steps, so that a service that is killed between any two of them neither loses it nor repeats it:
the schedule is stored with the decision and its next time, the order is given, and what came of it is stored. The
next service looks at runs for which the last step is missing. The decision has the name of a crawl that did not exist
then, so that its record says whether the order was given. Of a crawl that is resumed the decision has the ticket,
which each start changes.
"""

from __future__ import annotations

import logging
from itertools import count
from typing import TYPE_CHECKING, Protocol

from webcrawl.errors import CrawlError
from webcrawl.web.service.records import CrawlOrder, OrderState
from webcrawl.web.service.schedules import (
    ENDS,
    GOING,
    Repetition,
    RunOutcome,
    Schedule,
    ScheduledRun,
    add_run,
    decide,
    due_starts,
    missed_run,
)
from webcrawl.web.service.supervisor import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.web.service.records import CrawlRecord

logger = logging.getLogger(__name__)

SCHEDULES_MAX = 200
"""Schedules that the service keeps."""
_KEPT = (OrderState.ENDED, OrderState.FAILED)
"""States of crawls that are deleted when there are more than a schedule keeps."""
_MISSED = "the service was off, or could not start it"


class ScheduleStore(Protocol):
    """Keeps schedules."""

    def put_schedule(self, schedule: Schedule) -> None:
        """Store a schedule durably. :raises OSError:"""
        ...

    def delete_schedule(self, name: str) -> None:
        """:raises OSError:"""
        ...


class ScheduledCrawls(Protocol):
    """The crawls that schedules start."""

    def records(self) -> list[CrawlRecord]: ...

    def find(self, name: str) -> CrawlRecord | None: ...

    def order(self, order: CrawlOrder, seeds: Sequence[str]) -> None:
        """Order a crawl, which runs as soon as there is room. :raises CrawlError: :raises OSError:"""
        ...

    def start(self, name: str, now: float) -> object:
        """Have a crawl go on. :raises CrawlError: :raises OSError:"""
        ...

    def remove(self, name: str) -> None:
        """Delete a crawl that is over. :raises CrawlError: :raises OSError:"""
        ...


class Timetable:
    """All schedules of a service. The methods are called by one thread at a time, with the time in epoch seconds."""

    def __init__(self, store: ScheduleStore, crawls: ScheduledCrawls) -> None:
        self._store = store
        self._crawls = crawls
        self._schedules: dict[str, Schedule] = {}
        self._warnings: dict[str, str] = {}
        """The last warning about each schedule, which is not repeated every second."""

    # -- looking -------------------------------------------------------------------------------------------

    def schedules(self) -> list[Schedule]:
        """Return copies of all schedules, in the order in which they were made."""
        return [schedule.copy() for schedule in self._schedules.values()]

    def schedule(self, name: str) -> Schedule:
        """Return a copy of a schedule. :raises ServiceError: there is no such schedule"""
        return self._known(name).copy()

    def resumes(self, crawl: str) -> bool:
        """Return whether a crawl of this name is the one that a schedule resumes."""
        schedule = self._schedules.get(crawl)
        return schedule is not None and schedule.repetition is Repetition.RESUME

    def going(self, schedule: Schedule) -> str | None:
        """Return the name of a crawl of the schedule that is not over; None if there is none."""
        return next((record.order.name for record in self._records(schedule) if record.state in GOING), None)

    # -- commands ------------------------------------------------------------------------------------------

    def load(self, schedules: Iterable[Schedule]) -> None:
        """Take the schedules of an earlier service. The next tick carries out what it has left."""
        for schedule in sorted(schedules, key=lambda schedule: (schedule.created_at, schedule.name)):
            self._schedules[schedule.name] = schedule

    def create(self, schedule: Schedule, now: float) -> None:
        """Add a schedule. :raises ServiceError: :raises OSError: it cannot be stored"""
        name = schedule.name
        if name in self._schedules:
            raise ServiceError(f"there is a schedule {name} already")
        if len(self._schedules) >= SCHEDULES_MAX:
            raise ServiceError(f"there are {SCHEDULES_MAX} schedules already; remove one first")
        if schedule.repetition is Repetition.RESUME and self._crawls.find(name) is not None:
            raise ServiceError(f"there is a crawl {name} already; a schedule resumes a crawl of its own")
        schedule.plan(now)
        self._put(schedule)

    def change(self, schedule: Schedule, now: float) -> None:
        """Put a changed schedule in place of the one of its name. :raises ServiceError: :raises OSError:"""
        name, before = schedule.name, self._known(schedule.name)
        is_fixed = before.repetition is Repetition.RESUME and self._crawls.find(name) is not None
        if is_fixed and schedule.order != before.order:
            raise ServiceError(
                f"the crawl {name} was ordered already and keeps its order; make another schedule, or remove it"
            )
        if schedule.timing != before.timing:
            schedule.plan(now)
        self._put(schedule)

    def remove(self, name: str) -> None:
        """Forget a schedule. Its crawls stay. :raises ServiceError: :raises OSError:"""
        self._known(name)
        self._store.delete_schedule(name)
        del self._schedules[name]
        self._warnings.pop(name, None)

    def run_now(self, name: str, by: str, now: float) -> None:
        """Start the order of a schedule once, also while the schedule is paused.

        :raises ServiceError: a crawl of the schedule is still going, and the start cannot wait for its end
        :raises OSError: it cannot be stored
        """
        schedule = self.schedule(name)
        self._follow(schedule)
        run = self._decided(schedule, now, now, by)
        if run.outcome is RunOutcome.SKIPPED:
            raise ServiceError(f"{name} is not started: {run.reason}")
        add_run(schedule, run)
        self._put(schedule)
        self._launch(schedule, now)

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Start what is due, and look at what came of the last starts. Called every second or so."""
        for name, schedule in list(self._schedules.items()):
            if not schedule.has_open_runs() and (schedule.next_at is None or now < schedule.next_at):
                continue
            after = schedule.copy()
            try:
                if self._advance(after, now):
                    self._put(after)
                self._launch(self._schedules[name], now)
                self._warnings.pop(name, None)
            except OSError as error:
                self._warn(
                    name, f"it starts nothing while its state cannot be stored: {error.strerror or error}"
                )
            except Exception:
                # The other schedules must go on.
                logger.exception("The schedule %s failed", name)

    def _advance(self, schedule: Schedule, now: float) -> bool:
        """Enter what has happened since the last tick, and decide on what is due. Return whether that is anything."""
        is_changed = self._follow(schedule)
        queued = schedule.queued()
        if queued is not None and self.going(schedule) is None:
            queued.outcome, queued.reason, queued.at = RunOutcome.STARTING, "", now
            queued.ticket = self._ticket(queued.crawl)
            is_changed = True
        due = due_starts(schedule, now)
        if due is None:
            return is_changed
        if due.missed:
            add_run(schedule, missed_run(due.missed, now, _MISSED))
        if due.planned_at is not None:
            add_run(schedule, self._decided(schedule, due.planned_at, now))
        schedule.next_at = due.next_at
        return True

    def _decided(self, schedule: Schedule, planned_at: float, now: float, by: str = "") -> ScheduledRun:
        outcome, reason = decide(schedule, self.going(schedule))
        run = ScheduledRun(planned_at, now, outcome, reason, by=by)
        if outcome is not RunOutcome.SKIPPED:
            run.crawl = self._free_name(schedule, planned_at)
            run.ticket = self._ticket(run.crawl)
        return run

    def _ticket(self, crawl: str) -> int:
        record = self._crawls.find(crawl)
        return 0 if record is None else record.ticket

    def _free_name(self, schedule: Schedule, planned_at: float) -> str:
        """Return the name of the crawl of a start: the first one of its second and later ones that is free."""
        if schedule.repetition is Repetition.RESUME:
            return schedule.name
        taken = {run.crawl for run in schedule.runs}
        seconds = count(int(planned_at))
        names = (schedule.crawl_name(at) for at in seconds)
        return next(name for name in names if name not in taken and self._crawls.find(name) is None)

    def _follow(self, schedule: Schedule) -> bool:
        """Enter the ends of crawls. Return whether there are any."""
        is_changed = False
        for run in schedule.runs:
            if run.outcome is not RunOutcome.STARTED:
                continue
            record = self._crawls.find(run.crawl)
            if record is None:
                run.outcome, is_changed = RunOutcome.REMOVED, True
            elif record.state in ENDS:
                run.outcome, run.reason, run.ended_at = ENDS[record.state], record.reason, record.since
                is_changed = True
        return is_changed

    def _launch(self, schedule: Schedule, now: float) -> None:
        """Give the orders that were decided on and stored. :raises OSError: an order cannot be stored; it is given
        by a later call"""
        for run in schedule.runs:
            if run.outcome is not RunOutcome.STARTING:
                continue
            try:
                if self._is_ordered(schedule, run):
                    run.outcome = RunOutcome.STARTED
                elif now - run.at > schedule.window_seconds:
                    run.outcome, run.reason = RunOutcome.MISSED, _MISSED
                else:
                    self._order(schedule, run, now)
                    run.outcome = RunOutcome.STARTED
                    logger.info("%s: started by its schedule as %s", schedule.name, run.crawl)
            except CrawlError as error:
                run.outcome, run.reason = RunOutcome.REFUSED, " ".join(str(error).split())
                logger.warning("The schedule %s could not start a crawl: %s", schedule.name, run.reason)
            self._put(schedule)
            self._tidy(schedule)

    def _is_ordered(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """Return whether the order of a run was given already."""
        record = self._crawls.find(run.crawl)
        return record is not None and (
            schedule.repetition is Repetition.NEW or record.state in GOING or record.ticket != run.ticket
        )

    def _order(self, schedule: Schedule, run: ScheduledRun, now: float) -> None:
        if self._crawls.find(run.crawl) is not None:
            self._crawls.start(run.crawl, now)
            return
        order = schedule.order
        self._crawls.order(
            CrawlOrder(
                run.crawl,
                order.spider,
                order.arguments,
                order.settings,
                by=run.by or f"schedule {schedule.name}",
                at=now,
                schedule=schedule.name,
                schedule_created_at=schedule.created_at,
            ),
            order.seeds,
        )

    def _tidy(self, schedule: Schedule) -> None:
        """Delete the crawls that are more than the schedule keeps."""
        if not schedule.keep:
            return
        over = [record for record in self._records(schedule) if record.state in _KEPT]
        over.sort(key=lambda record: record.order.at)
        for record in over[: -schedule.keep]:
            name = record.order.name
            try:
                self._crawls.remove(name)
                logger.info("%s: deleted, as its schedule keeps %d", name, schedule.keep)
            except (CrawlError, OSError) as error:
                logger.warning("%s: could not be deleted: %s", name, error)

    # -- schedules -----------------------------------------------------------------------------------------

    def _records(self, schedule: Schedule) -> list[CrawlRecord]:
        """Return the records of the crawls that the schedule has ordered, not those of an earlier one of its name."""
        return [
            record
            for record in self._crawls.records()
            if (record.order.schedule, record.order.schedule_created_at)
            == (schedule.name, schedule.created_at)
        ]

    def _known(self, name: str) -> Schedule:
        schedule = self._schedules.get(name)
        if schedule is None:
            raise ServiceError(f"there is no schedule {name[:80]!r}", is_missing=True)
        return schedule

    def _put(self, schedule: Schedule) -> None:
        """Store a schedule and take it. :raises OSError: it stays as it was"""
        self._store.put_schedule(schedule)
        self._schedules[schedule.name] = schedule

    def _warn(self, name: str, warning: str) -> None:
        if self._warnings.get(name) != warning:
            self._warnings[name] = warning
            logger.warning("The schedule %s: %s", name, warning)
