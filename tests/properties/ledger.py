"""What must be true of the stored state, kept beside it in the simplest way: one table of queued URLs, one of
states, one of robots.txt answers. It hears of each commit in the moment it is carried out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.politeness.host_record import RobotsRecord
    from webcrawl.storage.contract import Batch, Committed, Move, Settled

Where = tuple[str, QueuePosition]
"""A politeness key and the place in its queue."""


def where(entry: UrlEntry) -> Where:
    return entry.key, expected_place(entry)


class Ledger:
    """The books of a crawl. An entry's ``repeat`` is the test's own business here: it is decided anew."""

    def __init__(
        self, queue_max: int, refused: Callable[[UrlEntry, str | None], None], *, exact: bool = True
    ) -> None:
        """``exact``: whether the backend keeps the state of each URL, so that what was pruned may return."""
        self._queue_max = queue_max
        self._exact = exact
        self._refused = refused
        self.queue: dict[Where, UrlEntry] = {}
        self.records: dict[int, UrlRecord] = {}
        self.robots: dict[str, RobotsRecord] = {}
        self.news: set[str] = set()
        """Origins whose answers were stored a moment ago; not everybody may have heard of it."""
        self.expected: dict[Where, tuple[State, int, int | None]] = {}
        """How leased URLs were settled: the state, the attempts so far if they are tried again, and the status of the
        answer."""
        self.pruned: set[Where] = set()
        """Where URLs stood that were pruned; some of them may have been leased."""
        self.may_return: set[int] = set()
        """URLs that are refused since their queue was full."""

    def committed(self, batch: Batch, committed: Committed) -> None:
        """A commit was carried out: do the same, by the book."""
        queued = [again for settled in batch.settled if (again := self._settle(settled)) is not None]
        queued += [entry for entry in batch.discovered if self._discover(entry)]
        for entry in queued:
            self._push(entry)
        queued += [entry for entry in batch.discovered if self._take_back(entry)]
        for record in batch.robots:
            self.robots[record.origin] = record
            self.news.add(record.origin)
        pruned = [gone for key in {entry.key for entry in queued} for gone in self._prune(key)]
        assert committed.pruned == len(pruned)
        assert committed.total_queued == len(self.queue)
        left = sorted(where(entry) for entry in queued if where(entry) in self.queue)
        assert sorted(where(entry) for entry in committed.queued) == left

    def moved(self, moves: list[Move], leased: set[Where]) -> None:
        """URLs were given other levels."""
        for move in moves:
            assert where(move.entry) not in leased, f"{move.entry.url} was moved while it is fetched"
            entry = self.queue.pop(where(move.entry))
            assert entry.url == move.entry.url
            assert where(move.moved()) not in self.queue, "two URLs have one place"
            self.queue[where(move.moved())] = move.moved()

    def known(self, entry: UrlEntry) -> bool:
        return entry.fingerprint in self.records

    def statuses(self) -> dict[int, tuple[State, int | None]]:
        """The state of each URL, and the last status of an answer."""
        return {mark: (record.state, record.status) for mark, record in self.records.items()}

    def counted(self) -> Counter[State]:
        return Counter(record.state for record in self.records.values())

    def _discover(self, entry: UrlEntry) -> bool:
        if entry.kind == Kind.ROBOTS:
            return True
        if entry.fingerprint not in self.records:
            assert not entry.repeat
            self.records[entry.fingerprint] = QUEUED
            return True
        return entry.repeat

    def _push(self, entry: UrlEntry) -> None:
        assert where(entry) not in self.queue, "two URLs have one place"
        self.queue[where(entry)] = entry

    def _take_back(self, entry: UrlEntry) -> bool:
        """Queue a URL that was pruned and is found again, if there is room beside all that is new."""
        length = sum(key == entry.key for key, _ in self.queue)
        if entry.repeat or entry.fingerprint not in self.may_return or length >= self._queue_max:
            return False
        self.may_return.discard(entry.fingerprint)
        self.records[entry.fingerprint] = QUEUED
        self._push(entry)
        return True

    def _settle(self, settled: Settled) -> UrlEntry | None:
        """Settle a URL; what it goes back to its queue as."""
        entry, place = settled.entry, where(settled.entry)
        assert place in self.queue or place in self.pruned, f"{entry.url} was settled before"
        was_queued = self.queue.pop(place, None) is not None
        self.pruned.discard(place)
        expected = self.expected.pop(place, None)
        if expected is None:
            assert settled.record.state is State.REFUSED, f"{entry.url} was settled and never leased"
            self._refused(entry, settled.record.rule)
            status = None
        else:
            attempts = settled.again.attempts if settled.again else 0
            assert (settled.record.state, attempts, settled.record.status) == expected
            status = expected[2]
        known = self.records.get(entry.fingerprint)
        if entry.repeat and known is not None and entry.fingerprint not in self.may_return:
            failed = known.state in (State.FAILED, State.REFUSED)
            if self._exact and failed and settled.record.state is State.DONE:
                known = known._replace(state=State.DONE)
            self.records[entry.fingerprint] = known._replace(status=status or known.status)
        if not entry.repeat and entry.kind != Kind.ROBOTS:
            assert known is not None
            if not was_queued and self._exact and known.state is not State.REFUSED:
                # It was pruned and has been found again: it is fetched once more.
                return None
            self.may_return.discard(entry.fingerprint)
            self.records[entry.fingerprint] = UrlRecord(settled.record.state, None, status or known.status)
        return settled.again

    def _prune(self, key: str) -> list[Where]:
        places = sorted(place for place in self.queue if place[0] == key)
        excess = places[self._queue_max :] if self._queue_max else []
        for place in excess:
            entry = self.queue.pop(place)
            self.pruned.add(place)
            if not entry.repeat:
                self.records[entry.fingerprint] = UrlRecord(State.REFUSED)
                if self._exact:
                    self.may_return.add(entry.fingerprint)
        return excess
