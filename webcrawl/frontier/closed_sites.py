"""The keys that wait for the hours of their sites."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from webcrawl.politeness.hours import FetchHours

REMEMBERED_MAX = 100_000
"""Keys in the backend that are remembered; further ones wait until their hours begin whatever is changed."""


class LetGo(NamedTuple):
    """The times of a key that waits in the backend."""

    before: float
    """When it could be contacted without its hours."""
    opens_at: float


@dataclass(slots=True)
class ClosedSites:
    """Remembers which keys wait for their hours, so that they can be called back when the hours are changed."""

    first_opens_at: float = 0.0
    """The time at which the first of them may be requested."""
    held: set[str] = field(default_factory=set)
    """Active keys, which are in a heap at the time at which their hours begin."""
    let_go: dict[str, LetGo] = field(default_factory=dict)
    """Keys in the backend."""

    def add(self, opens_at: float, now: float) -> None:
        """Note that a key waits until ``opens_at``."""
        if not now < self.first_opens_at < opens_at:
            self.first_opens_at = opens_at

    def release(self, key: str, before: float, opens_at: float, now: float) -> None:
        """Note that a key goes back to the backend."""
        if len(self.let_go) >= REMEMBERED_MAX:
            self.let_go = {key: times for key, times in self.let_go.items() if times.opens_at > now}
        if len(self.let_go) < REMEMBERED_MAX:
            self.let_go[key] = LetGo(before, opens_at)

    def change(self, hours: FetchHours, now: float) -> tuple[set[str], dict[str, LetGo]]:
        """Return the active keys whose place is to be found anew, and those in the backend that wait too long under
        other hours. Both are forgotten here."""
        self.first_opens_at = 0.0
        held, self.held = self.held, set()
        earlier = {
            key: times for key, times in self.let_go.items() if hours.opens_at(key, now) < times.opens_at
        }
        for key in earlier:
            del self.let_go[key]
        return held, earlier
