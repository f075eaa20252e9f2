"""Does a URL speak of a time, as those of calendars and archives do?"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.traps.pattern import Shape


class Dated(IntEnum):
    """How closely."""

    NO = 0
    PERIOD = 1
    """A year, a month, a week."""
    DAY = 2


_YEAR = re.compile(r"(?:1[5-9]|2\d)\d\d")
_ISO = re.compile(r"(?:1[5-9]|2\d)\d\d-?(?:0[1-9]|1[0-2])(-?(?:0[1-9]|[12]\d|3[01]))?")
_MONTH = re.compile(r"0?[1-9]|1[0-2]|[a-z]{3,9}", re.IGNORECASE)
_DAY = re.compile(r"0?[1-9]|[12]\d|3[01]")
_MOMENT = re.compile(r"[12]\d{9}(?:\d{3})?")
"""Seconds or milliseconds since 1970, from 2001 on."""
_CALENDAR = re.compile(r"calend|kalend|agenda|almanac|\bcal\b", re.IGNORECASE)
_NUMBERS_ALONE = re.compile(r"[#\W_]*(?:\.\w+)?")
_PERIODS = re.compile(
    r"^(?:.*[-_])?(?:month|monat|mois|mes|year|jahr|annee|week|woche|mm|yyyy|yr)$", re.IGNORECASE
)
_DAYS = re.compile(r"^(?:.*[-_])?(?:day|tag|jour|dia|date|datum|dd|time|ts)$", re.IGNORECASE)


def dated(shape: Shape) -> Dated:
    """Whether this very URL does, by what stands in it."""
    found = Dated.PERIOD if _CALENDAR.search(shape.path) else Dated.NO
    found = max(found, _in_path(shape.segments))
    for name, value in shape.parameters.items():
        found = max(found, _of_value(value))
        if value and not value.isalpha():
            if _DAYS.match(name):
                found = Dated.DAY
            elif _PERIODS.match(name):
                found = max(found, Dated.PERIOD)
    return found


def _in_path(segments: tuple[str, ...]) -> Dated:
    found = Dated.NO
    for at, segment in enumerate(segments):
        found = max(found, _of_value(segment.partition(".")[0]))
        if _YEAR.fullmatch(segment) and at + 1 < len(segments) and _MONTH.fullmatch(segments[at + 1]):
            is_day = at + 2 < len(segments) and _DAY.fullmatch(segments[at + 2])
            found = max(found, Dated.DAY if is_day else Dated.PERIOD)
    return found


def _of_value(value: str) -> Dated:
    iso = _ISO.fullmatch(value[:10])
    if iso is not None and (len(value) <= 10 or not value[10].isdigit()):
        return Dated.DAY if iso[1] else Dated.PERIOD
    return Dated.DAY if _MOMENT.fullmatch(value) else Dated.NO


def names_a_date(shape: Shape) -> bool:
    """Whether the URL of a page about a time says nothing beyond the time, as that of an article of a day does."""
    if shape.parameters:
        return True
    last = next((segment for segment in reversed(shape.path.split("/")) if segment), "")
    return _NUMBERS_ALONE.fullmatch(last) is not None


def stem_of(shape: Shape) -> str:
    """What the patterns of a calendar's years, months, weeks and days have in common."""
    kept = [part for part in shape.path.split("/") if part != "#" and part.lower() not in _VIEWS]
    return shape.place + "/".join(kept)


_VIEWS = frozenset(
    ["", "day", "week", "month", "year", "list", "grid", "agenda", "days", "weeks", "months", "years"]
)
