"""Dates in URLs, as calendars and archives have them, and the relation of one URL to another.

A number alone proves nothing: numbers of ten digits are more often ids than seconds since 1970, and numbers of six or
eight digits are ids if some of them are no valid month or day. So the former count as times only beside another that
is whole days apart, and the latter only while all numbers of a kind are dates.
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING

from webcrawl.features.traps.pattern import REPEATED

if TYPE_CHECKING:
    from webcrawl.features.traps.pattern import Shape


class Dated(IntEnum):
    """Precision of the date in a URL."""

    NO = 0
    PERIOD = 1
    """A year, a month or a week."""
    DAY = 2


YEAR_LENGTH = 4
_MILLENNIA = frozenset("12")
"""First digits of years."""
_YEAR = re.compile(r"(?:1[5-9]|2\d)\d\d")
_ISO = re.compile(r"(?:1[5-9]|2\d)\d\d-?(?:0[1-9]|1[0-2])(-?(?:0[1-9]|[12]\d|3[01]))?")
_MONTH = re.compile(r"0?[1-9]|1[0-2]|[a-z]{3,9}", re.IGNORECASE)
_DAY = re.compile(r"0?[1-9]|[12]\d|3[01]")
_MOMENT = re.compile(r"[12]\d{9}(?:\d{3})?")
"""Seconds or milliseconds since 1970, from 2001 on."""
_MOMENT_LENGTHS = (10, 13)
_MOMENTS = re.compile(r"(?<!\d)[12]\d{9}(?:\d{3})?(?!\d)")
"""All such numbers in a URL."""
_DAY_SECONDS, _HOUR_SECONDS = 86_400, 3_600
_COMPACT = (6, 8)
"""Number of digits of months and of days without separators."""
_CALENDAR = re.compile(r"calend|kalend|agenda|almanac|\bcal\b", re.IGNORECASE)
_NUMBERS_ALONE = re.compile(r"[#\W_]*(?:\.\w+)?")
_PERIODS = re.compile(
    r"^(?:.*[-_])?(?:month|monat|mois|mes|year|jahr|annee|week|woche|mm|yyyy|yr)$", re.IGNORECASE
)
_DAYS = re.compile(r"^(?:.*[-_])?(?:day|tag|jour|dia|date|datum|dd|time|ts)$", re.IGNORECASE)


def dated(shape: Shape, *, numbers_are_ids: bool = False) -> Dated:
    """Return the precision of the date in a URL, by its text alone. ``numbers_are_ids``: digits without separators
    are not dates."""
    precision = Dated.PERIOD if _CALENDAR.search(shape.path) else Dated.NO
    precision = max(precision, _in_path(shape.segments, numbers_are_ids))
    for name, value in shape.parameters.items():
        precision = max(precision, _of_value(value, numbers_are_ids))
        if value and not value.isalpha():
            if _DAYS.match(name):
                precision = Dated.DAY
            elif _PERIODS.match(name):
                precision = max(precision, Dated.PERIOD)
    return precision


def _in_path(segments: tuple[str, ...], numbers_are_ids: bool) -> Dated:
    precision = Dated.NO
    for at, segment in enumerate(segments):
        value = _of_value(segment.partition(".")[0], numbers_are_ids)
        if value > precision:
            precision = value
        if len(segment) != YEAR_LENGTH or at + 1 == len(segments):
            continue
        if _YEAR.fullmatch(segment) and _MONTH.fullmatch(segments[at + 1]):
            is_day = at + 2 < len(segments) and _DAY.fullmatch(segments[at + 2])
            precision = max(precision, Dated.DAY if is_day else Dated.PERIOD)
    return precision


def _of_value(value: str, numbers_are_ids: bool) -> Dated:
    if value[:1] not in _MILLENNIA:
        return Dated.NO
    iso = _ISO.fullmatch(value[:10])
    if iso is None or (len(value) > 10 and value[10].isdigit()) or (numbers_are_ids and value.isdigit()):
        return Dated.NO
    # The last two digits of consecutive numbers are valid months up to twelve, so such a number is a day: more pages
    # are needed.
    return Dated.DAY if iso[1] or value.isdigit() else Dated.PERIOD


def has_id(shape: Shape) -> bool:
    """Return whether the URL has a number as long as a month or a day that is neither."""
    for segment in shape.segments:
        value = segment.partition(".")[0]
        if len(value) in _COMPACT and value.isdecimal() and _ISO.fullmatch(value) is None:
            return True
    return any(
        len(value) in _COMPACT and value.isdecimal() and _ISO.fullmatch(value) is None
        for value in shape.parameters.values()
    )


def are_days_apart(shape: Shape, other: Shape) -> bool:
    """Return whether both URLs have a time in seconds or milliseconds since 1970 and the times are a multiple of
    whole days apart, but not equal. One hour more or less is allowed, for daylight saving time."""
    moment = _moment(shape)
    two = None if moment is None else _moment(other)
    return moment is not None and two is not None and _are_days_apart(moment, two)


def may_be_days_apart(shape: Shape, url: str) -> bool:
    """Return the same for a URL whose shape is not known, at a fraction of the cost; may be wrongly True, never
    wrongly False."""
    moment = _moment(shape)
    return moment is not None and any(_are_days_apart(moment, int(two[:10])) for two in _MOMENTS.findall(url))


def _are_days_apart(one: int, two: int) -> bool:
    return one != two and (one - two + _HOUR_SECONDS) % _DAY_SECONDS in (0, _HOUR_SECONDS, 2 * _HOUR_SECONDS)


def _moment(shape: Shape) -> int | None:
    """Return the time in seconds; None if there is none, or more than one."""
    moments = [
        int(value[:10])
        for value in (*shape.segments, *shape.parameters.values())
        if len(value) in _MOMENT_LENGTHS and _MOMENT.fullmatch(value) is not None
    ]
    return moments[0] if len(moments) == 1 else None


def names_a_date(shape: Shape) -> bool:
    """Return whether the URL of a page about a date contains only the date, unlike that of an article of a day."""
    if shape.parameters:
        return True
    last = next((segment for segment in reversed(shape.path.split("/")) if segment), "")
    return _NUMBERS_ALONE.fullmatch(last) is not None


def calendar_stem(shape: Shape) -> str:
    """Return the part that the patterns of a calendar's years, months, weeks and days have in common."""
    kept = [part for part in shape.path.split("/") if part != "#" and part.lower() not in _VIEWS]
    return shape.place + "/".join(kept)


_VIEWS = frozenset(
    ["", "day", "week", "month", "year", "list", "grid", "agenda", "days", "weeks", "months", "years"]
)


class UrlRelation(Enum):
    """Relation of a link to the page it is on."""

    SAME = auto()
    """A link of the same kind: it leads nowhere else."""
    NEAR = auto()
    """A page of the same program with other parameters, or a page about a date."""
    OTHER = auto()


def url_relation(shape: Shape, other: Shape, *, goes_deeper: bool) -> UrlRelation:
    """Return the relation of a URL to the page of ``shape`` that links to it. ``goes_deeper``: URLs below it are of
    its kind."""
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
    return (
        UrlRelation.SAME
        if dated(shape) and calendar_stem(other) == calendar_stem(shape)
        else UrlRelation.NEAR
    )


def extends(shape: Shape, place: str, segments: tuple[str, ...]) -> bool:
    """Return whether the path continues that of the page that led to it, given by its place and segments."""
    folder = segments[:-1]
    return (
        place == shape.place
        and len(folder) > 1
        and len(shape.segments) > len(segments)
        and shape.segments[: len(folder)] == folder
    )


def follows(shape: Shape, via: Shape) -> bool:
    """Return whether a URL was found on a page of its own kind."""
    if shape.place != via.place:
        return False
    if shape.path != via.path:
        return shape.path.endswith(REPEATED) and extends(shape, via.place, via.segments)
    if shape.parameters:
        return not shape.parameters.keys().isdisjoint(via.parameters)
    return not via.parameters
