"""Sums over time, in memory that does not grow with the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.reports.gathered import Sums

BINS = 240
"""A time line has between half of these and all."""


class TimeLine:
    """Sums of what ended within each of equal stretches, which double in length whenever there would be too many."""

    def __init__(self, width: int, bins: int = BINS) -> None:
        """``width``: how many numbers are summed up."""
        self._nothing: Sums = (0,) * width
        self._bins_max = bins
        self._bins: dict[int, list[int]] = {}
        self.step_seconds = 1

    def add(self, at: float, *amounts: int) -> None:
        """Count what ended ``at`` epoch seconds."""
        number = int(at) // self.step_seconds
        sums = self._bins.get(number)
        if sums is None:
            sums = self._begun(number)
        for place, amount in enumerate(amounts):
            if amount:
                sums[place] += amount

    def bins(self) -> list[Sums]:
        """All stretches from the first to the last, empty ones in between included."""
        if not self._bins:
            return []
        numbers = range(min(self._bins), max(self._bins) + 1)
        return [tuple(self._bins.get(number, self._nothing)) for number in numbers]

    @property
    def starts_at(self) -> float:
        return min(self._bins, default=0) * self.step_seconds

    def _begun(self, number: int) -> list[int]:
        """The sums of a new stretch, which may be one of twice the length now."""
        self._bins[number] = list(self._nothing)
        while max(self._bins) - min(self._bins) >= self._bins_max:
            self._double()
            number //= 2
        return self._bins[number]

    def _double(self) -> None:
        self.step_seconds *= 2
        halves, self._bins = self._bins, {}
        for number, half in halves.items():
            whole = self._bins.setdefault(number // 2, list(self._nothing))
            for place, amount in enumerate(half):
                whole[place] += amount
