"""How much of what a page says was not said by others of its kind: a sketch in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.traps.wording import Wording

SLOTS = 1 << 15
"""Bytes of each of the two generations of a sketch."""
FULL_AT = 6_000
"""Slots in use when a new generation begins: by then one in six that is asked for is in use by chance."""
SHOWN_WEIGHT = 5
"""How many groups of words a file counts for that was not shown before."""


class Sketch:
    """What a kind of pages said lately."""

    def __init__(self) -> None:
        self._young = bytearray(SLOTS)
        self._old = bytearray(SLOTS)
        self._used = 0

    def take(self, wording: Wording) -> tuple[float, int]:
        """Add a page; which share of what it says is new, and how many of its words. A page that says nothing says
        nothing new.
        """
        new_groups, groups = self._add(wording.groups)
        new_shown, shown = self._add(wording.shown)
        new_words, _ = self._add(wording.words)
        total = groups + SHOWN_WEIGHT * shown
        if self._used > FULL_AT:
            self._old, self._young, self._used = self._young, bytearray(SLOTS), 0
        return ((new_groups + SHOWN_WEIGHT * new_shown) / total if total else 0.0), new_words

    def _add(self, hashes: frozenset[int]) -> tuple[int, int]:
        young, old = self._young, self._old
        slots = {value % SLOTS for value in hashes}
        fresh = [slot for slot in slots if not young[slot]]
        for slot in fresh:
            young[slot] = 1
        self._used += len(fresh)
        return sum(not old[slot] for slot in fresh), len(slots)
