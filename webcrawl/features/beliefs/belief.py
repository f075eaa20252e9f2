"""A belief: its state, and the figures that beliefs of all kinds have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from enum import StrEnum

CONFIRMED, DOUBTED, REFUTED, UNDONE = "confirmed", "doubted", "refuted", "undone"
"""The states that beliefs of all kinds have; while it is being proved, each kind has a name of its own."""
ENDED = frozenset({REFUTED, UNDONE})
"""The states of beliefs that are never used again."""
BY_HAND = "undone by an operator"


class Belief(Protocol):
    """A belief with its state."""

    since: float
    """The time of its state, epoch seconds."""
    probes: int
    """URLs that were fetched to prove it."""
    samples: int
    """Withheld URLs that were fetched all the same, and were equal."""
    withheld: int
    """URLs that are withheld by it."""
    why: str
    """Why it was refuted or undone."""

    @property
    def id(self) -> str:
        """The name by which an operator undoes it."""
        ...

    @property
    def state(self) -> StrEnum:
        """Its state."""
        ...
