"""How two URLs belong together: of which kind one is to the other, and whether one grew out of the other."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from webcrawl.traps.dates import are_days_apart, dated, stem_of
from webcrawl.traps.pattern import REPEATED

if TYPE_CHECKING:
    from webcrawl.traps.pattern import Shape


class Kin(Enum):
    """What a link is to the page it stands on."""

    SAME = auto()
    """Of the same kind: it leads nowhere else."""
    NEAR = auto()
    """A page by the same program, with other parameters, or one about a date."""
    OTHER = auto()


def kin_of(shape: Shape, other: Shape, *, goes_deeper: bool) -> Kin:
    """What a URL is to the page of ``shape`` that links to it. ``goes_deeper``: what lies below it is of its kind."""
    if other.place != shape.place:
        return Kin.OTHER
    if other.path == shape.path:
        disjoint = shape.parameters.keys().isdisjoint(other.parameters)
        return Kin.NEAR if disjoint and shape.parameters and other.parameters else Kin.SAME
    if shape.path.endswith(REPEATED) and other.pattern.startswith(shape.pattern[:-1]):
        return Kin.SAME
    if goes_deeper and extends(other, shape.place, shape.segments):
        return Kin.SAME
    if not dated(other):
        return Kin.NEAR if are_days_apart(shape, other) else Kin.OTHER
    return Kin.SAME if dated(shape) and stem_of(other) == stem_of(shape) else Kin.NEAR


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
