"""The part of one key's queue that is held in memory while the key is active."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from webcrawl.frontier.records import UrlEntry

_TAKEN_MAX = 8
"""Entries that were taken and are still in the list: removing each at once would move all others each time."""

QueuePosition = tuple[int, int]
"""The position of an entry in its queue: (-level, position), so that sorting puts the first to be fetched first."""


EVERYTHING: QueuePosition = (-(1 << 47), 0)
"""A position before all others: no level is so high."""


REQUESTED: QueuePosition = ((1 << 47) - 1, (1 << 63) - 1)
"""The position of a key that another process requests. It is behind all others."""


def expected_place(entry: UrlEntry) -> QueuePosition:
    """Return the position of an entry in its queue."""
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
        self._out: set[QueuePosition] = set()
        self.more = more
        self.tail: QueuePosition | None = None
        """The position behind which the next load starts: no entry before it is in the backend alone."""
        self.loading = False
        """A load of the entries behind ``tail`` is under way; its result may already be out of date."""
        self._missed: set[QueuePosition] = set()
        self._reopened: QueuePosition | None = None
        self._gone: set[QueuePosition] = set()
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
        self._out.add(expected_place(entry))
        return entry

    def put_back(self, entries: Iterable[UrlEntry]) -> None:
        """Give back entries that were taken and not fetched."""
        for entry in entries:
            position = expected_place(entry)
            self._out.discard(position)
            if self.tail is not None and position <= self.tail:
                insort(self._entries, entry, lo=self._next, key=expected_place)
            else:
                self.more = True

    def withhold(self, position: QueuePosition) -> bool:
        """Let no entry at ``position`` be taken until ``gone`` is called for it; return False if it is out."""
        if position in self._out:
            return False
        if self._has(position):
            del self._entries[self._index(position)]
        self._out.add(position)
        return True

    def gone(self, entry: UrlEntry) -> None:
        """Note that an entry that was taken or withheld is no longer in its queue."""
        (self._gone.add if self.loading else self._out.discard)(expected_place(entry))

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
        position = expected_place(entry)
        if (position in self._out and position not in self._gone) or self._has(position):
            return
        if self.tail is not None and position < self.tail:
            insort(self._entries, entry, lo=self._next, key=expected_place)
            self._cut()
        elif not self.more and not self.loading and len(self) < self._limit:
            self._entries.append(entry)
            self.tail = position
        else:
            self.pass_over(entry)

    def pass_over(self, entry: UrlEntry) -> None:
        """Note a new entry that was queued in the backend and is not to be held until a load brings it."""
        self.more = True
        if self.loading:
            self._missed.add(expected_place(entry))
        else:
            self._end_before(expected_place(entry))

    def reopen(self, position: QueuePosition) -> None:
        """Note that there may be unknown entries in the backend, at ``position`` or behind it."""
        self.more = True
        if self.loading:
            self._reopened = position if self._reopened is None else min(position, self._reopened)
        else:
            self._end_at(position)

    def loaded(self, entries: Iterable[UrlEntry], more: bool) -> None:
        """Take in the entries that the backend has behind ``tail``."""
        self.loading = False
        self.more = more or bool(self._missed) or self._reopened is not None
        self._extend(entries)
        for position in self._missed:
            self._end_before(position)
        self._missed.clear()
        if self._reopened is not None:
            self._end_at(self._reopened)
            self._reopened = None
        self._out -= self._gone
        self._gone.clear()

    def _extend(self, entries: Iterable[UrlEntry]) -> None:
        for entry in entries:
            position = expected_place(entry)
            if self.tail is None or position > self.tail:
                self.tail = position
                if position not in self._out:
                    self._entries.append(entry)

    def _index(self, position: QueuePosition) -> int:
        return bisect_left(self._entries, position, lo=self._next, key=expected_place)

    def _has(self, position: QueuePosition) -> bool:
        index = self._index(position)
        return index < len(self._entries) and expected_place(self._entries[index]) == position

    def _end_before(self, position: QueuePosition) -> None:
        """Let the prefix end before ``position``, unless an entry is there already or the prefix ends before it
        anyway."""
        if self.tail is None or position > self.tail:
            return
        if self._has(position):
            return
        del self._entries[self._index(position) :]
        self.tail = (position[0], position[1] - 1)
        self.more = True

    def _end_at(self, position: QueuePosition) -> None:
        """Let the prefix end before ``position``, or with it if an entry is there already."""
        if self.tail is not None and position < self.tail and self._has(position):
            del self._entries[self._index(position) + 1 :]
            self.tail = position
            self.more = True
        else:
            self._end_before(position)

    def _cut(self) -> None:
        # Entries of a higher level keep being inserted before the tail: those cut off are loaded again later. Not
        # while a load is under way: its result starts behind the tail as it was.
        if len(self) > 2 * self._limit and not self.loading:
            del self._entries[self._next + self._limit :]
            self.tail = expected_place(self._entries[-1])
            self.more = True
