"""The heap of active keys by the time at which each may next be contacted (Mercator, section 4.2)."""

from __future__ import annotations

import heapq
import itertools


class KeyHeap:
    """Keys ordered by their time. A key is in the heap at most once; pushing it again moves it.

    A moved or removed entry stays behind as a husk that is dropped when it surfaces, so every operation costs
    O(log n); husks never outnumber the living by more than two to one.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, str]] = []
        self._tickets: dict[str, int] = {}
        self._ticket = itertools.count()

    def __len__(self) -> int:
        return len(self._tickets)

    def __contains__(self, key: str) -> bool:
        return key in self._tickets

    def push(self, key: str, at: float) -> None:
        """Put ``key`` at ``at`` (epoch seconds). Equal times come out in the order they went in."""
        ticket = next(self._ticket)
        self._tickets[key] = ticket
        heapq.heappush(self._entries, (at, ticket, key))
        if len(self._entries) > 64 and len(self._entries) > 3 * len(self._tickets):
            self._entries = [entry for entry in self._entries if self._tickets.get(entry[2]) == entry[1]]
            heapq.heapify(self._entries)

    def remove(self, key: str) -> None:
        """Take ``key`` out; nothing happens when it is not in."""
        self._tickets.pop(key, None)

    def next_at(self) -> float | None:
        """The time of the top, or None when the heap is empty."""
        self._drop_husks()
        return self._entries[0][0] if self._entries else None

    def pop_ready(self, now: float) -> str | None:
        """Take out and return the key with the earliest time, if that time has come."""
        self._drop_husks()
        if not self._entries or self._entries[0][0] > now:
            return None
        key = heapq.heappop(self._entries)[2]
        del self._tickets[key]
        return key

    def count_ready(self, now: float, at_most: int = 1000) -> int:
        """How many keys are ready at ``now``, counted up to ``at_most``: a figure for people, not for policy."""
        ready = 0
        pending = [0]
        while pending and ready < at_most:
            index = pending.pop()
            if index >= len(self._entries) or self._entries[index][0] > now:
                continue
            _, ticket, key = self._entries[index]
            ready += self._tickets.get(key) == ticket
            pending += (2 * index + 1, 2 * index + 2)
        return ready

    def _drop_husks(self) -> None:
        while self._entries and self._tickets.get(self._entries[0][2]) != self._entries[0][1]:
            heapq.heappop(self._entries)
