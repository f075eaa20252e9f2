"""Series of a crawl from the blocks of its processes: the archive, the steps, and how values are combined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypedDict

from webcrawl.features.timeseries.archives import ARCHIVES, STEPS
from webcrawl.frontier.figures import BY_NAME, Combine, Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.features.timeseries.archives import SeriesBlock

SHARE = Figure(name="share", unit="", meaning="Requests per second, as a part of the capacity")
"""Derived when series are read."""
MAX = ":max"
"""The suffix of the largest mean of 10 seconds within each step of a series."""
POINTS_MAX = 3000
SAVE_SECONDS = (10.0, 60.0, 60.0, 60.0)
"""The intervals at which a process stores its archives."""
_LATE = 3
"""A process that did not store an archive for this many intervals does not run any more."""


@dataclass(slots=True)
class Slot:
    """The series of one process at a time. Times are epoch seconds."""

    number: int
    first: float
    """The beginning of its series."""
    until: list[float]
    """The end of each archive."""
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """The steps of a series, and the archive that they are made of."""

    archive: int
    step: int
    """Seconds; a multiple of the archive's."""
    start: int
    count: int

    @property
    def end(self) -> int:
        return self.start + self.step * self.count


class SeriesObject(TypedDict):
    """Series for JSON."""

    step: Annotated[float, "Seconds of a step."]
    start: Annotated[float, "The beginning of the first step."]
    names: dict[str, list[float | None]]


@dataclass(frozen=True, slots=True)
class Series:
    """Values in steps of equal length."""

    step: float
    """Seconds."""
    start: float
    """Epoch seconds of the first step's beginning."""
    values: dict[str, list[float | None]]
    """A value for each step, by the name of the figure; None if it is unknown."""

    def as_object(self) -> SeriesObject:
        """Return it for JSON."""
        return {"step": self.step, "start": self.start, "names": self.values}


def choose_window(
    from_: float | None, to: float | None, points: int, now: float, slots: Sequence[Slot]
) -> Window:
    """Return the steps for a period: of the archive with the longest steps that still give ``points`` values, if it
    reaches so far back. :raises ValueError: the period is empty"""
    if points < 1:
        raise ValueError("points must be 1 or more")
    for name, at in (("from", from_), ("to", to)):
        if at is not None and not math.isfinite(at):
            raise ValueError(f"{name} must be epoch seconds")
    first = min((slot.first for slot in slots), default=now)
    end = now if to is None else min(to, now)
    start = first if from_ is None else max(from_, first)
    if to is not None and (from_ or 0.0) > to:
        raise ValueError("from must not be after to")
    start = min(start, end)
    wanted = (end - start) / min(points, POINTS_MAX)
    reaching = [index for index, archive in enumerate(ARCHIVES) if now - start <= archive.seconds] or [
        len(ARCHIVES) - 1
    ]
    fine = [index for index in reaching if ARCHIVES[index].step <= wanted]
    archive = fine[-1] if fine else reaching[0]
    unit = ARCHIVES[archive].step
    step = unit * max(math.ceil(wanted / unit - 1e-9), 1)
    begin = int(start // step) * step
    count = max(math.ceil((end - begin) / step), 1)
    return Window(archive, step, begin, min(count, POINTS_MAX + 1))


class _Sums:
    """The values of all processes for the steps of a window, before they are combined."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        self.covered = [0.0] * count
        """The part of each step in which processes ran, added up."""
        self.values: dict[str, list[float]] = {name: [math.nan] * count for name in names}
        self.weights: dict[str, list[float]] = {name: [0.0] * count for name in names}


def read_window(
    names: Sequence[str], window: Window, slots: Sequence[Slot], blocks: Mapping[int, Sequence[SeriesBlock]]
) -> Series:
    """Return series of the blocks of all slots."""
    wanted = dict.fromkeys(name for name in names if name != SHARE.name)
    if SHARE.name in names:
        wanted |= dict.fromkeys(("requests", "capacity"))
    first = min((slot.first for slot in slots), default=0.0)
    newest = max((slot.until[window.archive] for slot in slots), default=0.0)
    late = _LATE * SAVE_SECONDS[window.archive]
    sums = _Sums(list(wanted), window.count)
    for slot in slots:
        until = slot.until[window.archive]
        # One that runs has stored its last steps a little before or after the others.
        end = until if newest - until < late else newest
        _add_slot(sums, window, blocks.get(slot.number, ()), first, end)
    series = {name: _combined(name, sums) for name in wanted}
    if SHARE.name in names:
        pairs = zip(series["requests"], series["capacity"], strict=True)
        series[SHARE.name] = [
            None if rate is None or not capacity else rate / capacity for rate, capacity in pairs
        ]
    return Series(window.step, window.start, {name: series[name] for name in names})


def _add_slot(sums: _Sums, window: Window, blocks: Sequence[SeriesBlock], first: float, end: float) -> None:
    """Add what one slot has. ``first``: the beginning of the crawl; ``end``: how far its steps reach."""
    unit = ARCHIVES[window.archive].step
    steps: dict[int, list[tuple[SeriesBlock, int]]] = {}
    for block in blocks:
        for place in range(STEPS):
            at = (block.number * STEPS + place) * unit
            if block.covered[place] > 0 and window.start <= at < window.end:
                steps.setdefault((at - window.start) // window.step, []).append((block, place))
    for index, some in steps.items():
        begin = window.start + index * window.step
        seconds = min(begin + window.step, end) - max(begin, first)
        # A step has more than the time until its end only if clocks disagree.
        covered = sum(block.covered[place] for block, place in some)
        seconds = max(seconds, 1e-9) if seconds > 0 else covered
        sums.covered[index] += covered / seconds
        for name in sums.values:
            _add(sums, name, index, some, seconds)


def _add(sums: _Sums, name: str, index: int, some: Sequence[tuple[SeriesBlock, int]], seconds: float) -> None:
    plain = name.removesuffix(MAX)
    figure, is_max = BY_NAME[plain], plain != name
    total, covered, most = 0.0, 0.0, -math.inf
    for block, place in some:
        if plain not in block.names:
            continue
        at = block.names.index(plain)
        row, maxima = block.integrals[place], block.maxima[place]
        if row is None or row[at] != row[at]:
            continue
        total += row[at]
        covered += block.covered[place]
        mean = row[at] / block.covered[place]
        # The shortest archive has none: each of its steps is one mean.
        most = max(most, mean if maxima is None or maxima[at] != maxima[at] else maxima[at])
    if not covered:
        return
    values, weights = sums.values[name], sums.weights[name]
    had = values[index]
    if is_max:
        values[index] = _with_max(had, most, figure.combine)
        weights[index] = 1.0
    elif figure.combine in (Combine.SUM, Combine.MEAN):
        values[index] = total / seconds if had != had else had + total / seconds
        weights[index] += covered / seconds
    else:
        pick = min if figure.combine is Combine.MIN else max
        values[index] = total / covered if had != had else pick(had, total / covered)
        weights[index] = 1.0


def _with_max(had: float, most: float, combine: Combine) -> float:
    if had != had:
        return most
    if combine is Combine.SUM:
        return had + most
    return min(had, most) if combine is Combine.MIN else max(had, most)


def _combined(name: str, sums: _Sums) -> list[float | None]:
    plain = name.removesuffix(MAX)
    figure = BY_NAME[plain]
    values: list[float | None] = []
    for value, weight in zip(sums.values[name], sums.weights[name], strict=True):
        if value != value or not weight:
            values.append(None)
        elif plain != name or figure.is_counter or figure.combine in (Combine.MIN, Combine.MAX):
            values.append(value)
        elif figure.combine is Combine.MEAN:
            values.append(value / weight)
        else:
            # A gauge is the mean over the time in which any process ran.
            values.append(value / min(weight, 1.0))
    return values
