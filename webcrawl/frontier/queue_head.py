"""The part of one key's queue that is held in memory while the key is active."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from webcrawl.frontier.records import UrlEntry

_TAKEN_MAX = 8
"""Entries that were taken and are still in the list: removing each at once would move all others each time."""

Place = tuple[int, int]
"""The place of an entry in its queue: (-level, position), so that sorting puts the first to be fetched first."""


EVERYTHING: Place = (-(1 << 47), 0)
"""A place before all others: no level is so high."""


def place_of(entry: UrlEntry) -> Place:
    return (-entry.level, entry.position)


class QueueHead:
    """A sorted prefix of a key's queue in the backend, less the entries that are out.

    An entry is out from the moment it is taken until it is put back or has left its queue (``gone``). Always true:
    the entries in here are sorted and lie before ``tail`` or at it, and so does every other queued entry of the key,
    unless it is out or ``more`` is set, which means that there may be some.
    """

    def __init__(self, entries: Iterable[UrlEntry], more: bool, limit: int) -> None:
        self._entries: list[UrlEntry] = []
        self._next = 0
        self._limit = limit
        self._out: set[Place] = set()
        self.more = more
        self.tail: Place | None = None
        """The place behind which the next load starts: no entry before it is in the backend alone."""
        self.loading = False
        """A load of the entries behind ``tail`` is under way; its result may already be out of date."""
        self._missed: set[Place] = set()
        self._reopened: Place | None = None
        self._gone: set[Place] = set()
        """Entries that left the queue during a load, which may have read the queue before."""
        self._extend(entries)

    def __len__(self) -> int:
        return len(self._entries) - self._next

    def __bool__(self) -> bool:
        return self._next < len(self._entries)

    @property
    def level(self) -> int:
        """The level of the first entry; if there is none, at most that of the first that a load will bring."""
        if self:
            return self._entries[self._next].level
        return -self.tail[0] if self.tail is not None else 0

    def take(self) -> UrlEntry:
        """Take the first entry. Raises IndexError if there is none."""
        entry = self._entries[self._next]
        self._next += 1
        # Taken entries are removed soon: there are as many of these lists as there are active keys.
        if self._next >= _TAKEN_MAX or self._next == len(self._entries):
            del self._entries[: self._next]
            self._next = 0
        self._out.add(place_of(entry))
        return entry

    def put_back(self, entries: Iterable[UrlEntry]) -> None:
        """Give back entries that were taken and not fetched."""
        for entry in entries:
            place = place_of(entry)
            self._out.discard(place)
            if self.tail is not None and place <= self.tail:
                insort(self._entries, entry, lo=self._next, key=place_of)
            else:
                self.more = True

    def withhold(self, place: Place) -> bool:
        """Let no entry at ``place`` be taken until ``gone`` is called for it; returns False if one is out already."""
        if place in self._out:
            return False
        if self._has(place):
            del self._entries[self._index(place)]
        self._out.add(place)
        return True

    def gone(self, entry: UrlEntry) -> None:
        """Note that an entry that was taken or withheld is no longer in its queue."""
        (self._gone.add if self.loading else self._out.discard)(place_of(entry))

    def within(self, entries: Iterable[UrlEntry]) -> list[UrlEntry]:
        """Return those of new entries that change something: the others lie behind the end, where more is known to
        be."""
        tail = self.tail
        if not self.more or self.loading or tail is None:
            return list(entries)
        return [entry for entry in entries if (-entry.level, entry.position) <= tail]

    def offer(self, entry: UrlEntry) -> None:
        """Hold a new entry that was queued in the backend if it belongs to the prefix, else remember ``more``.

        A load may have brought it before this call.
        """
        place = place_of(entry)
        if (place in self._out and place not in self._gone) or self._has(place):
            return
        if self.tail is not None and place < self.tail:
            insort(self._entries, entry, lo=self._next, key=place_of)
            self._cut()
        elif not self.more and not self.loading and len(self) < self._limit:
            self._entries.append(entry)
            self.tail = place
        else:
            self.pass_over(entry)

    def pass_over(self, entry: UrlEntry) -> None:
        """Note a new entry that was queued in the backend and is not to be held until a load brings it."""
        self.more = True
        if self.loading:
            self._missed.add(place_of(entry))
        else:
            self._end_before(place_of(entry))

    def reopen(self, place: Place) -> None:
        """Note that there may be unknown entries in the backend, at ``place`` or behind it."""
        self.more = True
        if self.loading:
            self._reopened = place if self._reopened is None else min(place, self._reopened)
        else:
            self._end_at(place)

    def loaded(self, entries: Iterable[UrlEntry], more: bool) -> None:
        """Take in the entries that the backend has behind ``tail``."""
        self.loading = False
        self.more = more or bool(self._missed) or self._reopened is not None
        self._extend(entries)
        for place in self._missed:
            self._end_before(place)
        self._missed.clear()
        if self._reopened is not None:
            self._end_at(self._reopened)
            self._reopened = None
        self._out -= self._gone
        self._gone.clear()

    def _extend(self, entries: Iterable[UrlEntry]) -> None:
        for entry in entries:
            place = place_of(entry)
            if self.tail is None or place > self.tail:
                self.tail = place
                if place not in self._out:
                    self._entries.append(entry)

    def _index(self, place: Place) -> int:
        return bisect_left(self._entries, place, lo=self._next, key=place_of)

    def _has(self, place: Place) -> bool:
        index = self._index(place)
        return index < len(self._entries) and place_of(self._entries[index]) == place

    def _end_before(self, place: Place) -> None:
        """Let the prefix end before ``place``, unless an entry is there already or the place lies behind the end
        anyway."""
        if self.tail is None or place > self.tail:
            return
        if self._has(place):
            return
        del self._entries[self._index(place) :]
        self.tail = (place[0], place[1] - 1)
        self.more = True

    def _end_at(self, place: Place) -> None:
        """Let the prefix end before ``place``, or with it if an entry is there already."""
        if self.tail is not None and place < self.tail and self._has(place):
            del self._entries[self._index(place) + 1 :]
            self.tail = place
            self.more = True
        else:
            self._end_before(place)

    def _cut(self) -> None:
        # Entries of a higher level keep being inserted before the tail: those cut off are loaded again later. Not
        # while a load is under way: its result starts behind the tail as it was.
        if len(self) > 2 * self._limit and not self.loading:
            del self._entries[self._next + self._limit :]
            self.tail = place_of(self._entries[-1])
            self.more = True
