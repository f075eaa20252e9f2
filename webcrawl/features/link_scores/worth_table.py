"""Table of numbers by fingerprint, of fixed size: when it is full, the smallest are replaced first."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

PLACES = 1 << 20
"""Number of URLs in the table at a time: 12 MB."""
_WAYS = 4


class WorthTable:
    """A worth above 0 for each fingerprint that has a slot; all others have 0.

    A fingerprint has one of four slots. If all four are occupied, a newcomer with no more than the least worth among
    them reduces that worth by its own, and replaces it if its own is greater: so entries that receive nothing any
    more make room, and those that receive often stay (after Misra and Gries 1982, "Finding repeated elements").
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places``: a power of two, at least 4."""
        if places < _WAYS or places & (places - 1):
            raise ValueError(f"a table of {places} places: it must be a power of two, at least {_WAYS}")
        self._fingerprints = array("q", bytes(8 * places))
        self._worths = array("f", bytes(4 * places))
        self._mask = places // _WAYS - 1

    def add(self, worths: Mapping[int, float]) -> None:
        """Add to the worth of each fingerprint; no worth becomes negative."""
        for fingerprint, worth in worths.items():
            self._add(fingerprint, worth)

    def add_to_all(self, fingerprints: Iterable[int], worth: float) -> None:
        """Add ``worth`` to each fingerprint."""
        for fingerprint in fingerprints:
            self._add(fingerprint, worth)

    def worth(self, fingerprint: int) -> float:
        place = self._place(fingerprint)
        return 0.0 if place is None else self._worths[place]

    def take(self, fingerprint: int) -> float:
        """Return the worth of a fingerprint, and remove it."""
        place = self._place(fingerprint)
        if place is None:
            return 0.0
        worth, self._worths[place], self._fingerprints[place] = self._worths[place], 0.0, 0
        return worth

    def dump(self) -> tuple[bytes, ...]:
        """Return the content in parts, as ``load`` takes it."""
        return self._fingerprints.tobytes(), self._worths.tobytes()

    def load(self, dumped: bytes) -> None:
        """Replace the content. :raises ValueError: it is not of a table of this size"""
        places = len(self._fingerprints)
        if len(dumped) != 12 * places:
            raise ValueError(f"a table of {len(dumped)} bytes instead of {12 * places}")
        self._fingerprints = array("q", dumped[: 8 * places])
        self._worths = array("f", dumped[8 * places :])

    def _place(self, fingerprint: int) -> int | None:
        first = _WAYS * (fingerprint & self._mask)
        fingerprints = self._fingerprints
        for place in range(first, first + _WAYS):
            if fingerprints[place] == fingerprint:
                return place if fingerprint else None
        return None

    def _add(self, fingerprint: int, worth: float) -> None:
        first = _WAYS * (fingerprint & self._mask)
        fingerprints, worths = self._fingerprints, self._worths
        least = first
        for place in range(first, first + _WAYS):
            if fingerprints[place] == fingerprint:
                worths[place] = max(worths[place] + worth, 0.0)
                return
            if worths[place] < worths[least]:
                least = place
        if worths[least] < worth:
            fingerprints[least], worths[least] = fingerprint, worth
        elif worth > 0:
            worths[least] -= worth
