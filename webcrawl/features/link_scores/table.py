"""Numbers by fingerprint, as many as there is room for: those that matter least go first."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

PLACES = 1 << 20
"""URLs that are known at a time: 12 MB."""
_WAYS = 4


class Table:
    """A worth above 0 for each fingerprint that has a place; every other has 0.

    A fingerprint has its place among four. Where these are taken by others, a newcomer that has no more than the
    least of them lessens that one by what it brings, and takes its place when it has more: so what is no longer
    heard of makes room, and what is heard of often stays (after Misra and Gries 1982, "Finding repeated elements").
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a power of two, at least 4."""
        if places < _WAYS or places & (places - 1):
            raise ValueError(f"a table of {places} places: it must be a power of two, at least {_WAYS}")
        self._marks = array("q", bytes(8 * places))
        self._worths = array("f", bytes(4 * places))
        self._mask = places // _WAYS - 1

    def add(self, worths: Mapping[int, float]) -> None:
        """Add to the worth of each fingerprint; less than nothing is left of none."""
        for mark, worth in worths.items():
            self._add(mark, worth)

    def add_to_all(self, marks: Iterable[int], worth: float) -> None:
        """Add the same to the worth of each."""
        for mark in marks:
            self._add(mark, worth)

    def worth(self, mark: int) -> float:
        place = self._place(mark)
        return 0.0 if place is None else self._worths[place]

    def take(self, mark: int) -> float:
        """The worth of a fingerprint, which then has none."""
        place = self._place(mark)
        if place is None:
            return 0.0
        worth, self._worths[place], self._marks[place] = self._worths[place], 0.0, 0
        return worth

    def dump(self) -> tuple[bytes, ...]:
        """What ``load`` takes, in parts."""
        return self._marks.tobytes(), self._worths.tobytes()

    def load(self, dumped: bytes) -> None:
        """:raises ValueError: it is not of a table of this size"""
        places = len(self._marks)
        if len(dumped) != 12 * places:
            raise ValueError(f"a table of {len(dumped)} bytes instead of {12 * places}")
        self._marks = array("q", dumped[: 8 * places])
        self._worths = array("f", dumped[8 * places :])

    def _place(self, mark: int) -> int | None:
        first = _WAYS * (mark & self._mask)
        marks = self._marks
        for place in range(first, first + _WAYS):
            if marks[place] == mark:
                return place if mark else None
        return None

    def _add(self, mark: int, worth: float) -> None:
        first = _WAYS * (mark & self._mask)
        marks, worths = self._marks, self._worths
        least = first
        for place in range(first, first + _WAYS):
            if marks[place] == mark:
                worths[place] = max(worths[place] + worth, 0.0)
                return
            if worths[place] < worths[least]:
                least = place
        if worths[least] < worth:
            marks[least], worths[least] = mark, worth
        elif worth > 0:
            worths[least] -= worth
