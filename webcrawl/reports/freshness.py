"""How fresh the copies of pages were when they were visited again, as it was found and as it was expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.reports.counting import SECONDS_EDGES, Histogram, TimeLine

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTS = 10_000
"""Probabilities are added up in parts of one, as many digits as the log has."""
_FOREVER = 1e11


@dataclass(slots=True)
class Freshness:
    """Of lines that are revisits: they say ``revisit``, if the page came ``changed``, and where it is known ``since``
    when our copy was there, what was ``expected`` of it, and when the page was ``modified`` according to its server.
    """

    revisits: int = 0
    """Also such that failed or found the page gone."""
    judged: int = 0
    unchanged: int = 0
    not_modified: int = 0
    """Of the unchanged those that were answered with 304."""
    intervals: Histogram = field(default_factory=lambda: Histogram(SECONDS_EDGES))
    interval_seconds: float = 0.0
    fresh_least_seconds: float = 0.0
    """Of that time, when copies were fresh for certain: up to visits that found no change."""
    fresh_most_seconds: float = 0.0
    """And when they may have been: also up to a change, or the last one where its time is known."""
    foreseen: int = 0
    """Visits of which it is known what was expected."""
    expected_unchanged: int = 0
    """The sum of probabilities, times ``PARTS``."""
    foreseen_seconds: float = 0.0
    expected_fresh_seconds: float = 0.0
    """Of the time before these visits."""
    aged: int = 0
    """Visits of pages whose server dates changes, of which it is known what was expected."""
    age_seconds: float = 0.0
    """For how long their copies had been stale, added up: right on average, not for one visit."""
    expected_age_seconds: float = 0.0
    time_line: TimeLine = field(default_factory=lambda: TimeLine(7))
    """Judged, unchanged; foreseen, expected unchanged; aged, age and expected age in seconds."""

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line; what is of no type that belongs there counts as nothing."""
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
        # A copy is stale since the first change, and dated is the last one. But on average the first comes as long
        # after the visit before as the last one before this visit.
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
