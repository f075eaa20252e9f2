"""Heaps of active keys: by the time at which each may next be contacted (Mercator, section 4.2), and for a best-first
crawl, where of the keys whose time has come the one with the best URL comes first."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable


class KeyHeap:
    """Keys ordered by their time. A key is in the heap at most once; pushing it again moves it.

    A moved or removed entry stays behind as a stale entry that is dropped when it reaches the top, so every operation
    costs O(log n); there are never more than two stale entries for a valid one.
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
        """Take ``key`` out; do nothing if it is not in the heap."""
        self._tickets.pop(key, None)

    def next_at(self) -> float | None:
        """The time of the top, or None if the heap is empty."""
        self._drop_stale_entries()
        return self._entries[0][0] if self._entries else None

    def pop_ready(self, now: float) -> str | None:
        """Take out and return the key with the earliest time, if that time has come."""
        self._drop_stale_entries()
        if not self._entries or self._entries[0][0] > now:
            return None
        key = heapq.heappop(self._entries)[2]
        del self._tickets[key]
        return key

    def count_ready(self, now: float, at_most: int = 1000) -> int:
        """Count the keys that are ready at ``now``, up to ``at_most``: a figure for display, not for policy."""
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

    def _drop_stale_entries(self) -> None:
        while self._entries and self._tickets.get(self._entries[0][2]) != self._entries[0][1]:
            heapq.heappop(self._entries)


class BestFirst:
    """Replaces a ``KeyHeap``: waiting keys are ordered by their time, ready ones by the level of their first URL.

    Levels are kept as they were when a key became ready or was ``raised``; one that has fallen since is noticed when
    its turn comes. A share of the turns goes to a ready key drawn at random: the score of a site may be wrong, and
    only this reveals it.
    """

    def __init__(self, get_level: Callable[[str], int], explored: float, seed: int | None = None) -> None:
        """``get_level``: returns the level of a key's first URL. ``explored``: the share of random turns, 0 to 1."""
        self._get_level = get_level
        self._explored = explored
        self._random = random.Random(seed)
        self._waiting = KeyHeap()
        self._best: list[tuple[int, int, str]] = []
        """Ready keys by their negative level; also stale entries, whose tickets are not those of ``_tickets``."""
        self._tickets: dict[str, tuple[int, int]] = {}
        """The negative level and the ticket of each ready key."""
        self._ticket = itertools.count()
        self._ready: list[str] = []
        self._numbers: dict[str, int] = {}
        """The index of each key in ``_ready``."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._ready)

    def __contains__(self, key: str) -> bool:
        return key in self._numbers or key in self._waiting

    def push(self, key: str, at: float) -> None:
        """Put ``key`` at ``at`` (epoch seconds)."""
        self._leave(key)
        self._waiting.push(key, at)

    def remove(self, key: str) -> None:
        """Take ``key`` out; do nothing if it is not in the heap."""
        self._leave(key)
        self._waiting.remove(key)

    def next_at(self) -> float | None:
        """Return when the first key is ready, a time long past if one is already; None if there is none."""
        return 0.0 if self._ready else self._waiting.next_at()

    def pop_ready(self, now: float) -> str | None:
        """Take out and return the ready key that is next; None if no key's time has come."""
        while (key := self._waiting.pop_ready(now)) is not None:
            self._enter(key)
        if not self._ready:
            return None
        if self._explored and self._random.random() < self._explored:
            key = self._random.choice(self._ready)
        else:
            key = self._pop_best()
        self._leave(key)
        return key

    def count_ready(self, now: float, at_most: int = 1000) -> int:
        """Count the keys that are ready at ``now``, up to ``at_most``."""
        ready = len(self._ready)
        return min(ready + self._waiting.count_ready(now, max(at_most - ready, 0)), at_most)

    def raised(self, key: str) -> None:
        """Note that a better URL may be at the head of the key's queue."""
        if key in self._numbers:
            self._rank(key)

    def _enter(self, key: str) -> None:
        self._numbers[key] = len(self._ready)
        self._ready.append(key)
        self._rank(key)

    def _rank(self, key: str) -> None:
        rank = -self._get_level(key)
        known = self._tickets.get(key)
        if known is not None and known[0] == rank:
            return
        ticket = next(self._ticket)
        self._tickets[key] = rank, ticket
        heapq.heappush(self._best, (rank, ticket, key))
        if len(self._best) > 64 and len(self._best) > 3 * len(self._tickets):
            self._best = [(*known, key) for key, known in self._tickets.items()]
            heapq.heapify(self._best)

    def _pop_best(self) -> str:
        """Return the ready key with the highest level."""
        while True:
            rank, ticket, key = self._best[0]
            if self._tickets.get(key) == (rank, ticket):
                if -self._get_level(key) <= rank:
                    return key
                self._rank(key)
            heapq.heappop(self._best)

    def _leave(self, key: str) -> None:
        number = self._numbers.pop(key, None)
        if number is None:
            return
        del self._tickets[key]
        last = self._ready.pop()
        if last != key:
            self._ready[number] = last
            self._numbers[last] = number
