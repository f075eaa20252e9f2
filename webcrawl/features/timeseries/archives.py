"""Round-robin archives: averages and maxima of figures in steps of several lengths, in constant space.

An archive is a ring of blocks, a block is 60 steps. For each step it has the integral of each figure over the time
that the process ran in it, and that time (``covered``). The integral of a counter's rate is what it grew by, so that
the sum of all steps is the counter; the integral of a gauge is its mean times ``covered``. Everything here is a
function of the samples and their times.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.frontier.figures import COUNTERS, FIGURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEPS = 60
"""Steps of a block."""
SAMPLE_SECONDS_MAX = 60.0
"""A sample says nothing about earlier times than these before it: the process was frozen, or the clock was set."""
_NAMES = tuple(figure.name for figure in FIGURES)
_NAN = math.nan


class RingArchive(NamedTuple):
    """A ring of blocks."""

    step: int
    """Seconds."""
    blocks: int

    @property
    def seconds(self) -> int:
        """The time that the whole blocks cover, beside the present one."""
        return self.step * STEPS * (self.blocks - 1)

    def number(self, at: float) -> int:
        """Return the number of the block of a time; its place in the ring is this number modulo ``blocks``."""
        return int(at // (self.step * STEPS))


ARCHIVES = (RingArchive(10, 13), RingArchive(60, 49), RingArchive(900, 50), RingArchive(21_600, 50))
"""2 hours, 2 days, 30 days and 2 years."""


class BlockError(ValueError):
    """A stored block that cannot be read."""


@dataclass(slots=True)
class SeriesBlock:
    """Sixty steps of an archive. Rows are by step, values by name; a step that was not covered has no row."""

    number: int
    names: tuple[str, ...] = _NAMES
    covered: list[float] = field(default_factory=lambda: [0.0] * STEPS)
    """Seconds."""
    integrals: list[list[float] | None] = field(default_factory=lambda: [None] * STEPS)
    maxima: list[list[float] | None] = field(default_factory=lambda: [None] * STEPS)

    def packed(self) -> bytes:
        """Return it as it is stored: compressed, a line of JSON and numbers of four bytes."""
        empty = [_NAN] * len(self.names)
        has_maxima = any(row is not None for row in self.maxima)
        values = list(self.covered)
        for rows in (self.integrals, self.maxima) if has_maxima else (self.integrals,):
            for row in rows:
                values += empty if row is None else row
        head = json.dumps([self.number, int(has_maxima), *self.names], separators=(",", ":"))
        return zlib.compress(
            b"%s\n%s" % (head.encode(), struct.pack(f"<{len(values)}f", *_finite(values))), 1
        )


def unpacked(stored: bytes) -> SeriesBlock:
    """Return a stored block. :raises BlockError: it is none"""
    try:
        head, _, data = zlib.decompress(stored).partition(b"\n")
        number, has_maxima, names = _head(head)
        values = struct.unpack(f"<{len(data) // 4}f", data)
    except (ValueError, TypeError, zlib.error, struct.error) as error:
        raise BlockError(f"a block of a time series cannot be read: {error}") from error
    width = len(names)
    if len(values) != STEPS * (1 + width * (1 + has_maxima)):
        raise BlockError("a block of a time series has another length than it says")
    block = SeriesBlock(number, names, list(values[:STEPS]))
    for step in range(STEPS):
        if block.covered[step] > 0:
            at = STEPS + step * width
            block.integrals[step] = list(values[at : at + width])
            if has_maxima:
                at += STEPS * width
                block.maxima[step] = list(values[at : at + width])
    return block


@lru_cache(256)
def _head(head: bytes) -> tuple[int, int, tuple[str, ...]]:
    number, has_maxima, *names = json.loads(head)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("names must be text")
    return int(number), int(bool(has_maxima)), tuple(names)


def _finite(values: list[float]) -> list[float]:
    """Return values that fit into four bytes."""
    return [value if -3e38 < value < 3e38 else _NAN for value in values]


class Recorder:
    """The current blocks of one process. Times are epoch seconds."""

    def __init__(
        self, at: float, stored: Sequence[SeriesBlock | None] = (), before: Recorder | None = None
    ) -> None:
        """``at``: the start of the process, when all counters were 0. ``stored``: the blocks that an earlier process
        left at the places where those of this one begin. ``before``: a recorder of this process that has recorded
        everything until ``at``."""
        self.at = at
        """Everything until then is recorded."""
        self._counted: list[float] = [0.0] * len(COUNTERS) if before is None else before._counted
        self._blocks = [
            _continued(archive, stored[index] if index < len(stored) else None, at)
            for index, archive in enumerate(ARCHIVES)
        ]
        self._finished: list[tuple[int, SeriesBlock]] = []

    def sample(self, at: float, figures: Mapping[str, float]) -> None:
        """Record the figures of a moment. A gauge that is missing is unknown; a counter that is, did not grow. A
        sample that is not later than the last one is left out: the next one has what the counters grew by."""
        if not at > self.at:
            return
        start = max(self.at, at - SAMPLE_SECONDS_MAX)
        counted = [
            max(figures.get(figure.name, had), had)
            for figure, had in zip(COUNTERS, self._counted, strict=True)
        ]
        rates = [(now - had) / (at - start) for now, had in zip(counted, self._counted, strict=True)]
        values = rates + [figures.get(name, _NAN) for name in _NAMES[len(COUNTERS) :]]
        self._counted, self.at = counted, at
        # The shortest last: the ends of its steps raise the maxima of the others.
        for index, archive in reversed(list(enumerate(ARCHIVES))):
            self._spread(index, archive, start, at, values)

    def rows(self, archives: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Return what is to be stored of these archives: archive, place in the ring, value."""
        for index in archives:
            if index == 0 and (row := self._blocks[0].integrals[self._step(0)]) is not None:
                # The present step has not ended; at the end of the crawl it is the last one.
                self._raise_maxima(row, self._blocks[0].covered[self._step(0)], self.at)
        blocks = [block for block in self._finished if block[0] in archives]
        blocks += [(index, self._blocks[index]) for index in archives]
        return [(index, block.number % ARCHIVES[index].blocks, block.packed()) for index, block in blocks]

    def stored(self, archives: Sequence[int]) -> None:
        """Note that the last result of ``rows`` is stored."""
        self._finished = [block for block in self._finished if block[0] not in archives]

    def _step(self, index: int) -> int:
        """Return the step of an archive's present block that has the last sample."""
        step = int(self.at // ARCHIVES[index].step) - self._blocks[index].number * STEPS
        return min(max(step, 0), STEPS - 1)

    def _spread(
        self, index: int, archive: RingArchive, start: float, end: float, values: Sequence[float]
    ) -> None:
        """Add an interval in which each figure had one value to the steps that it touches."""
        step = int(start // archive.step)
        while step * archive.step < end:
            until = min(end, (step + 1) * archive.step)
            seconds = until - max(start, step * archive.step)
            if seconds > 0:
                self._add(index, archive, step, seconds, values)
                if index == 0 and until == (step + 1) * archive.step:
                    self._end_step(step)
            step += 1

    def _add(
        self, index: int, archive: RingArchive, step: int, seconds: float, values: Sequence[float]
    ) -> None:
        number, place = divmod(step, STEPS)
        block = self._blocks[index]
        if block.number != number:
            self._finished.append((index, block))
            # While nothing can be stored, the oldest are lost as they would be in the ring.
            mine = [block for block in self._finished if block[0] == index]
            if len(mine) >= archive.blocks:
                self._finished.remove(mine[0])
            block = self._blocks[index] = SeriesBlock(number)
        row = block.integrals[place]
        block.covered[place] += seconds
        if row is None:
            block.integrals[place] = [value * seconds for value in values]
        else:
            block.integrals[place] = [had + value * seconds for had, value in zip(row, values, strict=True)]

    def _end_step(self, step: int) -> None:
        """Raise the maxima of the longer archives to the means of a step of the shortest one."""
        block = self._blocks[0]
        row = block.integrals[step % STEPS]
        assert row is not None
        self._raise_maxima(row, block.covered[step % STEPS], (step + 0.5) * ARCHIVES[0].step)

    def _raise_maxima(self, row: Sequence[float], covered: float, at: float) -> None:
        few, step = len(COUNTERS), ARCHIVES[0].step
        means = [value / step for value in row[:few]] + [value / covered for value in row[few:]]
        for index, archive in enumerate(ARCHIVES[1:], 1):
            number, place = divmod(int(at // archive.step), STEPS)
            for block in (self._blocks[index], *(block for at_, block in self._finished if at_ == index)):
                if block.number == number:
                    had = block.maxima[place]
                    block.maxima[place] = (
                        means if had is None else [_larger(*pair) for pair in zip(had, means, strict=True)]
                    )


def _larger(one: float, other: float) -> float:
    """Return the larger number; NaN only if both are."""
    return other if one != one or other > one else one


def _continued(archive: RingArchive, stored: SeriesBlock | None, at: float) -> SeriesBlock:
    """Return the block in which a process begins that starts at ``at``: with the steps of an earlier one."""
    number = archive.number(at)
    if stored is None or stored.number != number:
        return SeriesBlock(number)
    here = int(at // archive.step) - number * STEPS
    block = SeriesBlock(number)
    places = [stored.names.index(name) if name in stored.names else None for name in _NAMES]
    # Steps that come later are of a clock that was set.
    for step in range(here + 1):
        for rows, target in ((stored.integrals, block.integrals), (stored.maxima, block.maxima)):
            if (row := rows[step]) is not None:
                target[step] = [_NAN if place is None else row[place] for place in places]
        block.covered[step] = stored.covered[step]
    return block
