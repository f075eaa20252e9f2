"""Does a URL speak of a time, as those of calendars and archives do?

A number by itself proves nothing: numbers of ten digits are ids more often than seconds since 1970, and those of six
or eight digits are ids where some of them are no month or day. So the first count as times only beside another that
is whole days apart, and the others only while all of a kind are dates.

How two URLs belong together: of which kind one is to the other, and whether one grew out of the other.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING

from webcrawl.features.traps.pattern import REPEATED

if TYPE_CHECKING:
    from webcrawl.features.traps.pattern import Shape


class Dated(IntEnum):
    """How closely."""

    NO = 0
    PERIOD = 1
    """A year, a month, a week."""
    DAY = 2


YEAR_LENGTH = 4
_MILLENNIA = frozenset("12")
"""How years begin."""
_YEAR = re.compile(r"(?:1[5-9]|2\d)\d\d")
_ISO = re.compile(r"(?:1[5-9]|2\d)\d\d-?(?:0[1-9]|1[0-2])(-?(?:0[1-9]|[12]\d|3[01]))?")
_MONTH = re.compile(r"0?[1-9]|1[0-2]|[a-z]{3,9}", re.IGNORECASE)
_DAY = re.compile(r"0?[1-9]|[12]\d|3[01]")
_MOMENT = re.compile(r"[12]\d{9}(?:\d{3})?")
"""Seconds or milliseconds since 1970, from 2001 on."""
_MOMENT_LENGTHS = (10, 13)
_MOMENTS = re.compile(r"(?<!\d)[12]\d{9}(?:\d{3})?(?!\d)")
"""All in a URL."""
_DAY_SECONDS, _HOUR_SECONDS = 86_400, 3_600
_COMPACT = (6, 8)
"""How many digits months and days have without anything between them."""
_CALENDAR = re.compile(r"calend|kalend|agenda|almanac|\bcal\b", re.IGNORECASE)
_NUMBERS_ALONE = re.compile(r"[#\W_]*(?:\.\w+)?")
_PERIODS = re.compile(
    r"^(?:.*[-_])?(?:month|monat|mois|mes|year|jahr|annee|week|woche|mm|yyyy|yr)$", re.IGNORECASE
)
_DAYS = re.compile(r"^(?:.*[-_])?(?:day|tag|jour|dia|date|datum|dd|time|ts)$", re.IGNORECASE)


def dated(shape: Shape, *, numbers_are_ids: bool = False) -> Dated:
    """Whether this very URL does, by what stands in it. ``numbers_are_ids``: those without marks between are no
    dates.
    """
    found = Dated.PERIOD if _CALENDAR.search(shape.path) else Dated.NO
    found = max(found, _in_path(shape.segments, numbers_are_ids))
    for name, value in shape.parameters.items():
        found = max(found, _of_value(value, numbers_are_ids))
        if value and not value.isalpha():
            if _DAYS.match(name):
                found = Dated.DAY
            elif _PERIODS.match(name):
                found = max(found, Dated.PERIOD)
    return found


def _in_path(segments: tuple[str, ...], numbers_are_ids: bool) -> Dated:
    found = Dated.NO
    for at, segment in enumerate(segments):
        value = _of_value(segment.partition(".")[0], numbers_are_ids)
        if value > found:
            found = value
        if len(segment) != YEAR_LENGTH or at + 1 == len(segments):
            continue
        if _YEAR.fullmatch(segment) and _MONTH.fullmatch(segments[at + 1]):
            is_day = at + 2 < len(segments) and _DAY.fullmatch(segments[at + 2])
            found = max(found, Dated.DAY if is_day else Dated.PERIOD)
    return found


def _of_value(value: str, numbers_are_ids: bool) -> Dated:
    if value[:1] not in _MILLENNIA:
        return Dated.NO
    iso = _ISO.fullmatch(value[:10])
    if iso is None or (len(value) > 10 and value[10].isdigit()) or (numbers_are_ids and value.isdigit()):
        return Dated.NO
    # Of numbers that follow each other up to twelve are months, so that more than these are to be asked for.
    return Dated.DAY if iso[1] or value.isdigit() else Dated.PERIOD


def has_id(shape: Shape) -> bool:
    """Whether a number as long as that of a month or a day is none."""
    for segment in shape.segments:
        value = segment.partition(".")[0]
        if len(value) in _COMPACT and value.isdecimal() and _ISO.fullmatch(value) is None:
            return True
    return any(
        len(value) in _COMPACT and value.isdecimal() and _ISO.fullmatch(value) is None
        for value in shape.parameters.values()
    )


def are_days_apart(shape: Shape, other: Shape) -> bool:
    """Whether both URLs have seconds or milliseconds since 1970 in them, not the same, and whole days lie between. An
    hour more or less is the change of the clocks.
    """
    one = _moment(shape)
    two = None if one is None else _moment(other)
    return one is not None and two is not None and _are_days_apart(one, two)


def may_be_days_apart(shape: Shape, url: str) -> bool:
    """The same of a URL whose shape is not known, for a fraction of the time; where it is so that is never missed."""
    one = _moment(shape)
    return one is not None and any(_are_days_apart(one, int(two[:10])) for two in _MOMENTS.findall(url))


def _are_days_apart(one: int, two: int) -> bool:
    return one != two and (one - two + _HOUR_SECONDS) % _DAY_SECONDS in (0, _HOUR_SECONDS, 2 * _HOUR_SECONDS)


def _moment(shape: Shape) -> int | None:
    """In seconds; None where there is none, or more than one."""
    found = [
        int(value[:10])
        for value in (*shape.segments, *shape.parameters.values())
        if len(value) in _MOMENT_LENGTHS and _MOMENT.fullmatch(value) is not None
    ]
    return found[0] if len(found) == 1 else None


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


class UrlRelation(Enum):
    """What a link is to the page it stands on."""

    SAME = auto()
    """Of the same kind: it leads nowhere else."""
    NEAR = auto()
    """A page by the same program, with other parameters, or one about a date."""
    OTHER = auto()


def url_relation(shape: Shape, other: Shape, *, goes_deeper: bool) -> UrlRelation:
    """What a URL is to the page of ``shape`` that links to it. ``goes_deeper``: what lies below it is of its kind."""
    if other.place != shape.place:
        return UrlRelation.OTHER
    if other.path == shape.path:
        disjoint = shape.parameters.keys().isdisjoint(other.parameters)
        return UrlRelation.NEAR if disjoint and shape.parameters and other.parameters else UrlRelation.SAME
    if shape.path.endswith(REPEATED) and other.pattern.startswith(shape.pattern[:-1]):
        return UrlRelation.SAME
    if goes_deeper and extends(other, shape.place, shape.segments):
        return UrlRelation.SAME
    if not dated(other):
        return UrlRelation.NEAR if are_days_apart(shape, other) else UrlRelation.OTHER
    return UrlRelation.SAME if dated(shape) and stem_of(other) == stem_of(shape) else UrlRelation.NEAR


def extends(shape: Shape, place: str, segments: tuple[str, ...]) -> bool:
    """Whether the path goes on where that of the page ended which led to it, by its place and its segments."""
    folder = segments[:-1]
    return (
        place == shape.place
        and len(folder) > 1
        and len(shape.segments) > len(segments)
        and shape.segments[: len(folder)] == folder
    )


def follows(shape: Shape, via: Shape) -> bool:
    """Whether a URL was found on a page of its own kind."""
    if shape.place != via.place:
        return False
    if shape.path != via.path:
        return shape.path.endswith(REPEATED) and extends(shape, via.place, via.segments)
    if shape.parameters:
        return not shape.parameters.keys().isdisjoint(via.parameters)
    return not via.parameters
