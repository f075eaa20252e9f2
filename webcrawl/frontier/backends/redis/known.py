"""URLs that are known to be known: most links of a page need not be sent to the server at all."""

from __future__ import annotations

from collections.abc import Iterable

GENERATION = 150_000


class Known:
    """Fingerprints that the seen test has, as this process heard; at most two generations of them.

    Some 25 MB when it is full. What is in here was once in the server: when the server may have forgotten its last
    second, it has to be cleared.
    """

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._young: set[int] = set()
        self._old: set[int] = set()

    def among(self, fingerprints: Iterable[int]) -> set[int]:
        """Those of ``fingerprints`` that are known."""
        asked = set(fingerprints)
        known = asked & self._young
        if old := asked & self._old:
            self.update(old)
            known |= old
        return known

    def update(self, fingerprints: Iterable[int]) -> None:
        """These are known."""
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, set()
        self._young.update(fingerprints)

    def discard(self, fingerprints: Iterable[int]) -> None:
        """These are to be asked for again: they may be taken as new."""
        for fingerprint in fingerprints:
            self._young.discard(fingerprint)
            self._old.discard(fingerprint)

    def clear(self) -> None:
        self._young.clear()
        self._old.clear()
