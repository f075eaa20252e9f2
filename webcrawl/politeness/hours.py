"""Hours of the day in which sites may be fetched, in a time zone, for the crawl and for single sites.

Hours are written ``22-6@Europe/Berlin``: from 22:00 to 6:00 by the clocks of Berlin, over midnight and through the
changes of summer time. Several are parted by commas, minutes follow a colon, and without a zone it is UTC::

    22-6@Europe/Berlin
    12:30-13,20-24@America/New_York

A line of the file for sites has hours and the sites that they are for; a domain stands for all hosts below it::

    22-6@Europe/Berlin   museum.example shop.example

What the clocks skip in spring is missing from the hours, and what they show twice in autumn counts twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from webcrawl.urls.lists import WrongLine, hostname, printable, read_lines

if TYPE_CHECKING:
    from pathlib import Path

DAY_MINUTES = 1440
_QUARTER = 900
"""Seconds. All zones change their offset at a quarter of an hour."""
_AHEAD = 3 * 96
"""Quarters that are searched for a change: a change of summer time can take an hour out of one day."""
_ROUNDS = 64
"""Changes that are looked at for a time at which all hours are open: some 32 days."""

_FORM = "hours such as 22-6@Europe/Berlin"
_TEXT = re.compile(r"([0-9:,\s-]+)(?:@\s*([A-Za-z0-9_+/-]{1,64})\s*)?", re.ASCII)
_SPAN = re.compile(r"\s*(\d{1,2})(?::(\d\d))?\s*-\s*(\d{1,2})(?::(\d\d))?\s*", re.ASCII)


class HoursError(ValueError):
    """Hours, or a file of them, cannot be read; the message says what is wrong with each."""


@dataclass(frozen=True, slots=True)
class Hours:
    """The hours of each day in which requests may begin."""

    spans: tuple[tuple[int, int], ...]
    """Minutes of the day: the first one, and the one after the last, which may be smaller; 1440 is midnight."""
    zone: str = "UTC"

    def is_open(self, at: float) -> bool:
        """Return True if requests may begin at a time (epoch seconds)."""
        local = datetime.fromtimestamp(at, _zone(self.zone))
        minute = local.hour * 60 + local.minute
        return any(
            start <= minute < end if start < end else minute >= start or minute < end
            for start, end in self.spans
        )

    def changes_at(self, at: float) -> float:
        """Return the first time after ``at`` at which they open or close; three days later if that is further."""
        before, zone = self.is_open(at), _zone(self.zone)
        day = datetime.fromtimestamp(at, zone)
        quarter = at // _QUARTER * _QUARTER
        times = {quarter + number * _QUARTER for number in range(1, _AHEAD + 1)}
        for ahead in range(-1, 5):
            date = (day + timedelta(days=ahead)).date()
            for minute in {minute % DAY_MINUTES for span in self.spans for minute in span}:
                written = datetime(date.year, date.month, date.day, *divmod(minute, 60), tzinfo=zone)
                times |= {written.replace(fold=fold).timestamp() for fold in (0, 1)}
        return next(
            (time for time in sorted(times) if time > at and self.is_open(time) != before),
            quarter + _AHEAD * _QUARTER,
        )

    def __str__(self) -> str:
        spans = ",".join(f"{_clock(start)}-{_clock(end)}" for start, end in self.spans)
        return f"{spans}@{self.zone}"


def read_hours(text: str) -> Hours:
    """Read hours. :raises HoursError:"""
    match = _TEXT.fullmatch(text.strip()) if len(text) <= 1000 else None
    if match is None:
        raise HoursError(f"must be {_FORM}")
    zone = match[2] or "UTC"
    try:
        _zone(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise HoursError(f"must be {_FORM} (no time zone {zone} is known here)") from error
    return Hours(tuple(map(_span, match[1].split(","))), zone)


@dataclass(frozen=True, slots=True)
class FetchHours:
    """The hours of a crawl and those of single sites, which narrow them. Times are epoch seconds."""

    crawl: Hours | None = None
    sites: Mapping[str, tuple[Hours, ...]] = field(default_factory=dict)
    """Hours by domain: they are for the politeness key of this name, and for those below it."""
    _known: dict[Hours, list[_Phase]] = field(default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.crawl is not None or bool(self.sites)

    def crawl_opens_at(self, now: float) -> float:
        """Return when the crawl may begin requests: ``now``, or later."""
        return now if self.crawl is None else self._opens_at(self.crawl, now)

    def opens_at(self, key: str, now: float) -> float:
        """Return when requests to a politeness key may begin: ``now``, or later. Hours that are never open together
        end some weeks from now."""
        hours = self.of(key)
        at = now
        for _ in range(_ROUNDS if hours else 0):
            later = max(self._opens_at(one, at) for one in hours)
            if later <= at:
                break
            at = later
        return at

    def of(self, key: str) -> list[Hours]:
        """Return all hours that a key has to keep."""
        found = [] if self.crawl is None else [self.crawl]
        name = key if self.sites else ""
        while name:
            found += self.sites.get(name, ())
            name = name.partition(".")[2]
        return found

    def in_words(self, key: str) -> str:
        """Return the hours of a key as they are written."""
        return " and ".join(map(str, self.of(key)))

    def _opens_at(self, hours: Hours, now: float) -> float:
        phases = self._known.setdefault(hours, [])
        for phase in phases:
            if phase.begins_at <= now < phase.ends_at:
                break
        else:
            if len(phases) >= _ROUNDS:
                phases.clear()
            phase = _Phase(now, hours.changes_at(now), hours.is_open(now))
            phases.append(phase)
        return now if phase.is_open else phase.ends_at


@dataclass(frozen=True, slots=True)
class _Phase:
    """A time in which hours are open, or closed."""

    begins_at: float
    ends_at: float
    is_open: bool


ALWAYS = FetchHours()


def load_site_hours(path: Path, key_of: Callable[[str], str]) -> dict[str, tuple[Hours, ...]]:
    """Read the hours of sites. ``key_of``: returns the politeness key of a host.

    :raises HoursError: with every line that is wrong
    """
    sites: dict[str, tuple[Hours, ...]] = {}
    wrong = []
    try:
        with path.open("rb") as stream:
            for number, text, _ in read_lines(stream):
                try:
                    for site, hours in _line(text):
                        key = key_of(site)
                        sites[key] = (*sites.get(key, ()), hours)
                except HoursError as error:
                    wrong.append(str(WrongLine(number, printable(text), str(error))))
    except OSError as error:
        raise HoursError(f"{path} cannot be read: {error.strerror or error}") from error
    if wrong:
        raise HoursError("\n".join(f"{path}: {line}" for line in wrong))
    return sites


def _line(text: str) -> Iterable[tuple[str, Hours]]:
    first, *names = text.split()
    if not names:
        raise HoursError(f"a line is {_FORM}, and one or more sites")
    hours = read_hours(first)
    # A path would be cut off.
    domains = [(name, None if "/" in name else hostname(name.removeprefix("*."))) for name in names]
    for name, domain in domains:
        if domain is None:
            raise HoursError(f"{name!r} is no domain")
    return [(domain, hours) for _, domain in domains if domain is not None]


def _span(text: str) -> tuple[int, int]:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise HoursError(f"must be {_FORM}")
    start, end = (int(match[hour]) * 60 + int(match[minute] or 0) for hour, minute in ((1, 2), (3, 4)))
    if max(start, end) > DAY_MINUTES or max(match[2] or "", match[4] or "") >= "60":
        raise HoursError(f"must be {_FORM} (no clock shows {text.strip()})")
    start %= DAY_MINUTES
    if start == end:
        raise HoursError(f"must be {_FORM} (all day is 0-24)")
    return start, end


def _clock(minute: int) -> str:
    hour, rest = divmod(minute, 60)
    return f"{hour}:{rest:02}" if rest else str(hour)


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
