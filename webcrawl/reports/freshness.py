"""Freshness of the copies of pages when they were revisited, as found and as expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.reports.counting import SECONDS_EDGES, Histogram, TimeLine

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTS = 10_000
"""Probabilities are summed in parts of one, with as many digits as the log has."""
_FOREVER = 1e11


@dataclass(slots=True)
class Freshness:
    """Figures of lines that are revisits. Such a line has ``revisit``, ``changed`` if a page was returned, and if
    known: ``since`` (when our copy was fetched), the ``expected`` values, and ``modified`` (when the page changed
    according to its server).
    """

    revisits: int = 0
    """Revisits, including those that failed or found the page gone."""
    judged: int = 0
    unchanged: int = 0
    not_modified: int = 0
    """Unchanged pages that were answered with 304."""
    intervals: Histogram = field(default_factory=lambda: Histogram(SECONDS_EDGES))
    interval_seconds: float = 0.0
    fresh_least_seconds: float = 0.0
    """The part of that time in which copies were certainly fresh: up to visits that found no change."""
    fresh_most_seconds: float = 0.0
    """The part in which they may have been fresh: also up to a change, or the last change if its time is known."""
    foreseen: int = 0
    """Visits with a known expectation."""
    expected_unchanged: int = 0
    """The sum of probabilities, times ``PARTS``."""
    foreseen_seconds: float = 0.0
    expected_fresh_seconds: float = 0.0
    """Expected fresh seconds of the time before these visits."""
    aged: int = 0
    """Visits with a known expectation of pages whose server dates changes."""
    age_seconds: float = 0.0
    """The sum of the times for which their copies had been stale: right on average, not for one visit."""
    expected_age_seconds: float = 0.0
    time_line: TimeLine = field(default_factory=lambda: TimeLine(7))
    """Scored, unchanged; with expectation, expected unchanged; aged, age and expected age in seconds."""

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line; fields of a wrong type are ignored."""
        if line.get("revisit") is not True:
            return
        self.revisits += 1
        changed, ended = line.get("changed"), _moment(line.get("end"))
        if not isinstance(changed, bool):
            return
        self.judged += 1
        self.unchanged += not changed
        self.not_modified += line.get("status") == 304 and not changed
        sums = [1, int(not changed), 0, 0, 0, 0, 0]
        start, since = _moment(line.get("start")), _moment(line.get("since"))
        if start is not None and since is not None and since < start:
            self._add_interval(line, changed, since, start, sums)
        if ended is not None:
            self.time_line.add(ended, *sums)

    def _add_interval(
        self, line: Mapping[str, Any], changed: bool, since: float, start: float, sums: list[int]
    ) -> None:
        interval, modified = start - since, _moment(line.get("modified"))
        self.intervals.add(interval)
        self.interval_seconds += interval
        # A copy is stale since the first change, but the server dates the last one. On average the first change comes
        # as long after the visit before as the last one comes before this visit.
        age = None if modified is None or modified > start or changed != (modified > since) else 0.0
        if age is not None and modified is not None and changed:
            age = modified - since
            self.fresh_most_seconds += age
        else:
            self.fresh_most_seconds += interval
        if not changed:
            self.fresh_least_seconds += interval
        expected = line.get("expected")
        if not isinstance(expected, dict):
            return
        chance, expected_age = (_number(expected.get(name)) for name in ("unchanged", "age"))
        if chance is None or expected_age is None or chance > 1:
            return
        self.foreseen += 1
        sums[2:4] = 1, round(chance * PARTS)
        self.expected_unchanged += sums[3]
        self.foreseen_seconds += interval
        self.expected_fresh_seconds += max(interval - expected_age, 0.0)
        if age is not None:
            sums[4:] = 1, round(age), round(expected_age)
            self.aged += 1
            self.age_seconds += sums[5]
            self.expected_age_seconds += sums[6]


def _moment(value: object) -> float | None:
    return _number(value) or None


def _number(value: object) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _FOREVER
    return float(value) if is_one else None  # type: ignore[arg-type]
