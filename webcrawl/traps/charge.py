"""What a page that brings nothing new counts for against its pattern.

Much for URLs that grow out of each other, as no finite set of pages does for long; nothing where it may be chance. A
pattern is guilty at ``POINTS``, and pages in a row are all that counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webcrawl.traps.dates import Dated, are_days_apart, dated, may_be_days_apart, names_a_date, stem_of
from webcrawl.traps.kinship import extends, follows
from webcrawl.traps.pattern import DEEP, REPEATED, Shape, is_paging_name, shape_of

POINTS = 60
REPEATS = 10.0
"""Six pages of a path that says a segment again, each below one that brought nothing new either."""
COMBINES = 5.0
"""Twelve of combinations of parameters."""
DEEPENS = 3.0
CHAIN_LEAST = 2
"""Twenty pages that are deeper than one that brought nothing new either."""
PERIOD = 6.0
"""Ten months."""
DAY = 3.0
"""Twenty days, or dates found elsewhere: days without anything are many."""
ONE_PARAMETER = 3.0
NUMBERED = 0.02
"""Three thousand that differ in a number alone, in the path or in one parameter: a site whose pages have next to no
text looks the same, and is no trap."""
HOLLOW = 0.75
"""Eighty, where the numbers are drawn from a wide range and each page says the same as all: none is missed for long
if it did not exist."""
REPEATS_FROM = 5
"""Segments of a path from which on it counts that it says one again: trees of folders with short names do so too."""
WITHOUT_ISSUE = 0.0
"""Pages that lead to no further page of their kind come to an end by themselves."""


@dataclass(frozen=True, slots=True)
class Barren:
    """A page that brought nothing new.

    ``pattern``: under which it is judged; ``breeds``: whether it leads to new URLs of its own kind; ``chain``: how
    many such pages led to each other up to this one; ``is_hollow``: whether it says what all of its kind say, under
    a number drawn from a wide range; ``numbers_are_ids`` as for ``dated``.
    """

    shape: Shape
    pattern: str
    via: str | None
    breeds: bool
    chain: int
    is_hollow: bool = False
    numbers_are_ids: bool = False


def points_of(page: Barren) -> float:
    """Between 0 and ``REPEATS``."""
    shape = page.shape
    via = None if page.via is None else shape_of(page.via)
    if page.pattern.endswith((REPEATED, DEEP)):
        if (
            not page.breeds
            or page.chain < CHAIN_LEAST
            or via is None
            or not extends(shape, via.place, via.segments)
        ):
            return WITHOUT_ISSUE
        if page.pattern.endswith(DEEP):
            return DEEPENS
        return REPEATS if len(shape.segments) >= REPEATS_FROM else WITHOUT_ISSUE
    is_child = via is not None and follows(shape, via)
    when = dated(shape, numbers_are_ids=page.numbers_are_ids)
    if via is not None and shape.pattern == via.pattern and are_days_apart(shape, via):
        when = Dated.DAY
    if when is not Dated.NO and names_a_date(shape):
        is_child = is_child or (via is not None and stem_of(via) == stem_of(shape))
        return PERIOD if is_child and page.breeds and when is Dated.PERIOD else DAY
    return _of_child(shape, page.is_hollow) if is_child and page.breeds else WITHOUT_ISSUE


def most_points_of(page: Barren) -> float:
    """A bound of ``points_of``, for a fraction of its cost: the shape of the URL that led to the page is not made."""
    shape = page.shape
    if page.pattern.endswith((REPEATED, DEEP)):
        return REPEATS
    if page.via is not None and may_be_days_apart(shape, page.via):
        return PERIOD
    if dated(shape, numbers_are_ids=page.numbers_are_ids) is not Dated.NO:
        return PERIOD
    return _of_child(shape, page.is_hollow)


def _of_child(shape: Shape, is_hollow: bool) -> float:
    """Of a page that was found on one of its kind, and leads to more of these."""
    if all(map(is_paging_name, shape.parameters)) or is_number(shape.parameters):
        return HOLLOW if is_hollow else NUMBERED
    if len(shape.parameters) > 1 or any("," in value for value in shape.parameters.values()):
        return COMBINES
    return ONE_PARAMETER


def is_number(parameters: Mapping[str, str]) -> bool:
    """Whether there is one parameter, and it counts something."""
    return len(parameters) == 1 and all(value.isdecimal() for value in parameters.values())
