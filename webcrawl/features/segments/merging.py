"""Import of the results of a segment's crawl: fetched URLs are settled, found URLs are queued if they are new."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from webcrawl.errors import StorageFull
from webcrawl.frontier.queue_head import expected_place
from webcrawl.frontier.records import State
from webcrawl.storage.contract import Backend, Batch, Settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.features.segments.results import Results, UrlStates
    from webcrawl.frontier.order import Order
    from webcrawl.frontier.queue_head import QueuePosition
    from webcrawl.frontier.records import UrlEntry, UrlRecord

AT_ONCE = 500
"""Number of URLs per commit."""


@dataclass(slots=True)
class ImportCounts:
    """Numbers of imported URLs."""

    settled: Counter[State] = field(default_factory=Counter)
    """URLs that were queued here, by their new state."""
    known: int = 0
    """URLs that were settled here before."""
    left: int = 0
    """URLs of segments that were not fetched: they stay in the queue, for the next segment."""
    new: int = 0
    """URLs that were queued by the import."""
    found_known: int = 0
    """Found URLs that were already known here."""


class Merging:
    """Imports into an open backend that no crawl uses. Every step can be repeated without effect.

    May raise the errors of the backend, and StorageFull if the backend turns URLs away: unlike links of a page, these
    are not found again.
    """

    def __init__(self, backend: Backend, order: Order) -> None:
        self._backend = backend
        self._order = order
        self.merged = ImportCounts()

    async def results(self, results: Results) -> None:
        """Import the results of a segment's crawl: found URLs before the URL that led to them is settled."""
        with results.opened() as batches:
            await self.found(results.found())
            await self._merge_states(batches)

    async def found(self, entries: Iterable[UrlEntry]) -> None:
        """Queue the unseen entries, at the levels that this crawl's order gives them."""
        for batch in _batches(entries):
            queued = await self._discover(self._order.place_all(batch))
            self.merged.new += queued
            self.merged.found_known += len(batch) - queued

    async def queue(self, entries: Iterable[UrlEntry]) -> None:
        """Queue the unseen entries, at their own levels."""
        for batch in _batches(entries):
            queued = await self._discover([self._order.place_again(entry) for entry in batch])
            self.merged.new += queued
            self.merged.found_known += len(batch) - queued

    async def _merge_states(self, batches: Iterator[UrlStates]) -> None:
        for states in batches:
            await self._enter([entry for entry, _ in states])
            done = {
                entry.fingerprint: known
                for entry, known in states
                if known is not None and known.state != State.QUEUED
            }
            self.merged.left += len(states) - len(done)
            if done:
                await self._settle(states[0][0].key, done)

    async def _enter(self, entries: list[UrlEntry]) -> None:
        """Add URLs that are new to this crawl; known ones stay unchanged."""
        for entry in entries:
            entry.repeat = False
        self.merged.new += await self._discover([self._order.place_again(entry) for entry in entries])

    async def _settle(self, key: str, done: dict[int, UrlRecord]) -> None:
        """Remove settled URLs from the queue of their key, at any position."""
        after: QueuePosition | None = None
        left = set(done)
        while left:
            loaded = await self._backend.read_queue(key, after, AT_ONCE)
            settled = [
                Settled(entry, done[entry.fingerprint])
                for entry in loaded.entries
                if entry.fingerprint in left
            ]
            if settled:
                await self._backend.commit(Batch(settled=settled))
                self.merged.settled.update(result.record.state for result in settled)
                left.difference_update([result.entry.fingerprint for result in settled])
            if not loaded.more:
                break
            after = expected_place(loaded.entries[-1])
        self.merged.known += len(left)

    async def _discover(self, entries: list[UrlEntry]) -> int:
        committed = await self._backend.commit(Batch(discovered=entries))
        if committed.turned_away:
            raise StorageFull(
                "the storage of the crawl has no room for the found URLs; import again when it has"
            )
        return len(committed.queued)


def _batches(entries: Iterable[UrlEntry]) -> Iterator[list[UrlEntry]]:
    left = iter(entries)
    while batch := list(islice(left, AT_ONCE)):
        yield batch
