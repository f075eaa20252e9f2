"""Counting what is most frequent among more different things than memory should hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Thing = TypeVar("Thing", bound="Hashable")


class HeavyHitters(Generic[Thing]):
    """Counts of up to ``capacity`` things, sure to hold the frequent ones (lossy counting, Manku & Motwani
    2002).

    Whenever twice as many are held, the rarer half is forgotten. ``forgotten_most`` is the largest count
    that was ever forgotten: a thing's true count is between what is shown and that much more, and 0 means
    exact.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[Thing, int] = {}
        self.forgotten_most = 0
        self.total = 0

    def add(self, thing: Thing, amount: int = 1) -> None:
        """Count ``thing`` once more, or ``amount`` times."""
        self.total += amount
        counts = self._counts
        if thing in counts:
            counts[thing] += amount
            return
        counts[thing] = amount
        if len(counts) >= 2 * self._capacity:
            self._forget()

    def most(self, number: int) -> list[tuple[Thing, int]]:
        """The ``number`` most frequent things, the most frequent first."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], str(item[0])))[:number]

    def __len__(self) -> int:
        """How many different things are held; all there were, if nothing was forgotten."""
        return len(self._counts)

    def _forget(self) -> None:
        ordered = sorted(self._counts.items(), key=lambda item: -item[1])
        self.forgotten_most = max(self.forgotten_most, ordered[self._capacity][1])
        self._counts = dict(ordered[: self._capacity])
