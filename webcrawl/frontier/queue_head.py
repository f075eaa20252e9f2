"""The part of one key's queue that is held in memory while the key is active."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

from webcrawl.frontier.records import UrlEntry

Place = tuple[int, int]
"""Where an entry stands in its queue: (-level, position), so that sorting puts the first to be fetched first.
"""


def place_of(entry: UrlEntry) -> Place:
    return (-entry.level, entry.position)


class QueueHead:
    """A sorted prefix of a key's queue in the backend, less the entries that were taken.

    Always true: every queued entry of the key that sorts before ``tail`` and was not taken is in here;
    ``more`` says whether there may be entries behind ``tail``.
    """

    def __init__(self, entries: Iterable[UrlEntry], more: bool, limit: int) -> None:
        self._entries: list[UrlEntry] = []
        self._next = 0
        self._limit = limit
        self.more = more
        self.tail: Place | None = None
        self.loading = False
        """A load is under way; what it brings may already be out of date."""
        self._missed = False
        self._extend(entries)

    def __len__(self) -> int:
        return len(self._entries) - self._next

    def __bool__(self) -> bool:
        return self._next < len(self._entries)

    def take(self) -> UrlEntry:
        """Take the first entry; IndexError when there is none."""
        entry = self._entries[self._next]
        self._next += 1
        if self._next >= 64:
            del self._entries[: self._next]
            self._next = 0
        return entry

    def put_back(self, entries: Iterable[UrlEntry]) -> None:
        """Give back entries that were taken and not fetched."""
        for entry in entries:
            insort(self._entries, entry, lo=self._next, key=place_of)

    def offer(self, entry: UrlEntry) -> None:
        """A new entry was queued in the backend: hold it if it belongs to the prefix, else remember ``more``."""
        place = place_of(entry)
        if self.tail is not None and place < self.tail:
            insort(self._entries, entry, lo=self._next, key=place_of)
            self._cut()
        elif not self.more and not self.loading and len(self) < self._limit:
            self._entries.append(entry)
            self.tail = place
        else:
            self.pass_over()

    def pass_over(self) -> None:
        """Something was queued that is not held here."""
        self.more = True
        self._missed = self.loading

    def loaded(self, entries: Iterable[UrlEntry], more: bool) -> None:
        """Take in what the backend has behind ``tail``."""
        self.loading = False
        self.more = more or self._missed
        self._missed = False
        self._extend(entries)

    def _extend(self, entries: Iterable[UrlEntry]) -> None:
        for entry in entries:
            place = place_of(entry)
            if self.tail is None or place > self.tail:
                self._entries.append(entry)
                self.tail = place

    def _cut(self) -> None:
        # Entries of a higher level keep being inserted before the tail: what falls off is loaded again later.
        # Not while a load is under way: what it brings starts behind the tail as it was.
        if len(self) > 2 * self._limit and not self.loading:
            del self._entries[self._next + self._limit :]
            self.tail = place_of(self._entries[-1])
            self.more = True
