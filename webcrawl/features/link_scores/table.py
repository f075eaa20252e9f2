"""Table of numbers by fingerprint, of fixed size: when it is full, the smallest are replaced first."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

PLACES = 1 << 20
"""Number of URLs in the table at a time: 12 MB."""
_WAYS = 4


class Table:
    """A worth above 0 for each fingerprint that has a slot; all others have 0.

    A fingerprint has one of four slots. If all four are occupied, a newcomer with no more than the least worth among
    them reduces that worth by its own, and replaces it if its own is greater: so entries that receive nothing any
    more make room, and those that receive often stay (after Misra and Gries 1982, "Finding repeated elements").
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a power of two, at least 4."""
        if places < _WAYS or places & (places - 1):
            raise ValueError(f"a table of {places} places: it must be a power of two, at least {_WAYS}")
        self._marks = array("q", bytes(8 * places))
        self._worths = array("f", bytes(4 * places))
        self._mask = places // _WAYS - 1

    def add(self, worths: Mapping[int, float]) -> None:
        """Add to the worth of each fingerprint; no worth becomes negative."""
        for mark, worth in worths.items():
            self._add(mark, worth)

    def add_to_all(self, marks: Iterable[int], worth: float) -> None:
        """Add ``worth`` to each fingerprint."""
        for mark in marks:
            self._add(mark, worth)

    def worth(self, mark: int) -> float:
        place = self._place(mark)
        return 0.0 if place is None else self._worths[place]

    def take(self, mark: int) -> float:
        """Return the worth of a fingerprint, and remove it."""
        place = self._place(mark)
        if place is None:
            return 0.0
        worth, self._worths[place], self._marks[place] = self._worths[place], 0.0, 0
        return worth

    def dump(self) -> tuple[bytes, ...]:
        """Return the content in parts, as ``load`` takes it."""
        return self._marks.tobytes(), self._worths.tobytes()

    def load(self, dumped: bytes) -> None:
        """Replace the content. :raises ValueError: it is not of a table of this size"""
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
