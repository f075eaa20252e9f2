"""Cron expressions: the times of a schedule. Pure functions of an expression, a time zone and a time.

When clocks change, an expression whose hour is ``*`` goes on in elapsed time: it starts in each hour that there is.
Any other expression names times of the clock. A time that occurs twice is taken the first time, and in place of a
time that is missing comes the first one after the gap. Debian's cron, which cronsim follows, has the same rule for
expressions of single times; here it holds for hours such as ``*/2``, and for minutes with ``*``, too.
"""

from __future__ import annotations

import zoneinfo
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from cronsim import CronSim, CronSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPRESSION_MAX = 100
"""Characters of an expression."""
FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_EVERY = {0: "0-59", 1: "0-23"}
_OF_A_SYSTEM = frozenset(("Factory", "localtime"))
"""Names in the database that stand for what a machine is set to."""


class CronTimes:
    """The times of an expression in a time zone. Times are epoch seconds."""

    def __init__(self, expression: str, zone: str) -> None:
        """:raises ValueError: the expression or the zone is wrong, as the rest of a sentence"""
        fields = expression.split()
        if len(fields) != len(FIELDS):
            raise ValueError(f"must have five fields ({', '.join(FIELDS)}), not {len(fields)}")
        if len(expression) > EXPRESSION_MAX or not expression.isascii():
            raise ValueError(f"must have at most {EXPRESSION_MAX} characters, all of them ASCII")
        self._zone = _zone(zone)
        self._expression = expression
        if fields[1] != "*":
            # cronsim lets a star as the first letter of minute or hour stand for elapsed time.
            for place, every in _EVERY.items():
                fields[place] = ",".join(_without_star(term, every) for term in fields[place].split(","))
        self._fields = " ".join(fields)
        try:
            CronSim(self._fields, datetime.fromtimestamp(0, self._zone))
        except (CronSimError, ValueError, AssertionError) as error:
            raise ValueError(_reason(error)) from None

    @property
    def meaning(self) -> str:
        """The expression in words, without the time zone."""
        return CronSim(self._expression, datetime.fromtimestamp(0, self._zone)).explain()

    def after(self, at: float) -> Iterator[float]:
        """Yield the times after a time, without an end, unless none comes in 50 years."""
        last = at
        for moment in CronSim(self._fields, datetime.fromtimestamp(at, self._zone)):
            # A moment of the second of two equal hours is read as one of the first.
            if (now := moment.timestamp()) > last:
                yield now
                last = now

    def first_after(self, at: float) -> float | None:
        """Return the first time after a time; None if none comes."""
        return next(self.after(at), None)


@lru_cache(maxsize=1)
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(zoneinfo.available_timezones() - _OF_A_SYSTEM)


def _zone(name: str) -> zoneinfo.ZoneInfo:
    if name not in zones():
        raise ValueError(f"{name[:80]!a} is no time zone; give a name such as UTC or Europe/Berlin")
    return zoneinfo.ZoneInfo(name)


def _without_star(term: str, every: str) -> str:
    return every + term[1:] if term.startswith("*") else term


def _reason(error: Exception) -> str:
    name = str(error).removeprefix("Bad ").replace("-of-", " of the ")
    return f"has a wrong {name}" if name in FIELDS else "is no cron expression"
