"""The changes that one commit makes in the tables, a table at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from sys import maxsize

from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord
from webcrawl.storage.contract import QUEUE_FULL, Batch, Committed, Settled
from webcrawl.storage.sqlite.keys import Keys
from webcrawl.storage.sqlite.queues import Queues
from webcrawl.storage.sqlite.seen import Answers, Ends, Mark, SeenTest

Row = tuple[int, UrlEntry]
"""The number of a key, and an entry for its queue."""

_HOST = itemgetter(0)
_ROBOTS = Kind.ROBOTS.value


class Commits:
    """Carries out batches. All methods run on the store's thread inside a transaction."""

    def __init__(
        self, keys: Keys, queues: Queues, seen: SeenTest, totals: dict[str, int], queue_max: int
    ) -> None:
        """``totals``: the row of the table of that name; the caller stores its changes."""
        self._keys = keys
        self._queues = queues
        self._seen = seen
        self._totals = totals
        self._queue_max = queue_max

    def carry_out(self, batch: Batch) -> Committed:
        totals = self._totals
        ids = self._keys.get_ids(
            [settled.entry.key for settled in batch.settled]
            + [entry.key for entry in batch.discovered]
            + [record.key for record in batch.hosts]
        )
        left: dict[int, int] = {}
        rows = self._settle(batch.settled, ids, left)
        may_return: list[int] = []
        rows += self._admitted(batch.discovered, ids, rows, left, may_return)
        self._queues.push(rows)
        totals["queued"] += len(rows) - sum(left.values())
        self._keys.queued(*_gains(rows, left), batch.at)
        self._keys.left(left)
        self._keys.store(batch.hosts)
        totals["robots"] += self._queues.store_robots(batch.robots, totals["robots"])
        pruned = self._prune(rows, may_return)
        totals["hosts"] += self._keys.added
        if pruned:
            rows = [
                (host_id, entry) for host_id, entry in rows if (host_id, expected_place(entry)) not in pruned
            ]
        return Committed(
            [entry for _, entry in rows],
            len(pruned),
            totals["queued"],
            totals["hosts"],
            may_return=may_return,
        )

    def _settle(self, settled: Sequence[Settled], ids: Mapping[str, int], left: dict[int, int]) -> list[Row]:
        """Take settled URLs out of their queues; add to ``left`` how many each key lost. Returns the entries to queue
        again."""
        rows: list[Row] = []
        ends: Ends = {}
        answers: Answers = {}
        queued = self._queues.remove(
            [(ids[outcome.entry.key], *expected_place(outcome.entry)) for outcome in settled]
        )
        for outcome in settled:
            entry = outcome.entry
            host_id = ids[entry.key]
            mark = host_id, entry.fingerprint
            place = (host_id, *expected_place(entry))
            if place in queued:
                queued.discard(place)
                left[host_id] = left.get(host_id, 0) + 1
            elif not entry.repeat:
                # It was pruned while it was leased: its state since then counts, unless it was found again. Then its
                # new place in the queue counts.
                if not self._is_refused(mark, ends):
                    continue
                self._totals["refused"] -= 1
            if outcome.again is not None:
                rows.append((host_id, outcome.again))
            counts = not entry.repeat or self._has_come_good(mark, outcome.record, ends)
            if counts:
                self._end(ends, mark, outcome.record)
            if outcome.record.status is not None and not counts:
                answers[mark] = outcome.record.status
            elif outcome.record.status is not None:
                answers.pop(mark, None)
        self._seen.settle(ends, answers)
        return rows

    def _has_come_good(self, mark: Mark, record: UrlRecord, ends: Ends) -> bool:
        """Return True if a URL that had failed or was refused is done by a repeat; it no longer counts as that."""
        if record.state is not State.DONE or not self._seen.keeps_states:
            return False
        known = ends.get(mark) or self._seen.record(*mark)
        if known is None or known.state not in (State.FAILED, State.REFUSED) or known.rule == QUEUE_FULL:
            return False
        self._totals[known.state.name.lower()] -= 1
        return True

    def _is_refused(self, mark: Mark, ends: Ends) -> bool:
        """Return True if a URL that left its queue is refused by now; ``ends`` are not in the seen test yet. A seen
        test without states never finds a URL again."""
        record = ends.get(mark) or self._seen.record(*mark)
        return record is None or record.state is State.REFUSED

    def _admitted(
        self,
        discovered: Sequence[UrlEntry],
        ids: Mapping[str, int],
        again: Sequence[Row],
        left: Mapping[int, int],
        may_return: list[int],
    ) -> list[Row]:
        """Return the discovered entries to queue, given that ``again`` are queued and that ``left`` have left their
        queues; add those that have no room now to ``may_return``."""
        # Both tables are ordered by key: rows that are stored together are looked up and written together.
        candidates = sorted(zip([ids[entry.key] for entry in discovered], discovered, strict=True), key=_HOST)
        # A hop of a robots.txt redirect is no URL of the crawl: it is never seen, wherever it leads.
        rows = [row for row in candidates if row[1].kind == _ROBOTS]
        if rows:
            candidates = [row for row in candidates if row[1].kind != _ROBOTS]
            for _, hop in rows:
                hop.repeat = True
        added, pruned = self._seen.add([(host_id, entry.fingerprint) for host_id, entry in candidates])
        for row, is_new in zip(candidates, added, strict=True):
            if is_new:
                row[1].repeat = False
                rows.append(row)
            elif row[1].repeat:
                rows.append(row)
        if pruned:
            rows += self._taken_back(
                [candidates[number] for number in pruned], [*again, *rows], left, may_return
            )
        return rows

    def _taken_back(
        self, pruned: Sequence[Row], rows: Sequence[Row], left: Mapping[int, int], may_return: list[int]
    ) -> list[Row]:
        """Return those of ``pruned``, which were found again, that have room in their queues beside ``rows``."""
        room: dict[int, int] = {}
        gains = Counter(host_id for host_id, _ in rows)
        ends: Ends = {}
        taken: list[Row] = []
        for host_id, entry in pruned:
            mark = host_id, entry.fingerprint
            if entry.repeat or mark in ends:
                continue
            if host_id not in room:
                length = self._queues.length(host_id) - left.get(host_id, 0) + gains[host_id]
                room[host_id] = (self._queue_max or maxsize) - length
            if room[host_id] <= 0:
                may_return.append(entry.fingerprint)
                continue
            room[host_id] -= 1
            ends[mark] = QUEUED
            taken.append((host_id, entry))
        self._seen.settle(ends, {})
        self._totals["refused"] -= len(taken)
        return taken

    def _end(self, ends: Ends, mark: Mark, record: UrlRecord) -> None:
        """Give a URL the record with which it leaves its queue, and count its state."""
        ends[mark] = record
        if record.state is not State.QUEUED:
            self._totals[record.state.name.lower()] += 1

    def _prune(self, rows: Sequence[Row], may_return: list[int]) -> set[tuple[int, QueuePosition]]:
        """Cut full queues. Returns (host id, place) of the entries removed."""
        pruned: set[tuple[int, QueuePosition]] = set()
        if not self._queue_max:
            return pruned
        ends: Ends = {}
        gains: dict[int, int] = {}
        for host_id in {host_id for host_id, _ in rows}:
            for place, fingerprint, repeat in self._queues.prune(host_id, self._queue_max):
                gains[host_id] = gains.get(host_id, 0) - 1
                pruned.add((host_id, place))
                if not repeat:
                    self._end(ends, (host_id, fingerprint), UrlRecord(State.REFUSED, QUEUE_FULL))
        self._seen.settle(ends, {})
        if self._seen.keeps_states:
            may_return += [fingerprint for _, fingerprint in ends]
        self._keys.queued(gains, {}, 0.0)
        self._totals["queued"] -= len(pruned)
        return pruned


def _gains(rows: Sequence[Row], left: Mapping[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return, by key, the change in the number of its URLs, and the highest level of the new ones."""
    gains = {host_id: -count for host_id, count in left.items()}
    levels: dict[int, int] = {}
    for host_id, entry in rows:
        gains[host_id] = gains.get(host_id, 0) + 1
        level = levels.get(host_id)
        if level is None or level < entry.level:
            levels[host_id] = entry.level
    return gains, levels
