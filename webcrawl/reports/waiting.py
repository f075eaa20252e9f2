"""Says what a crawl that was asked to stop still waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL_MAX = 200


class Oldest(NamedTuple):
    """The URL that has been in a state for the longest time."""

    url: str
    seconds: float

    def __str__(self) -> str:
        url = self.url if len(self.url) <= _URL_MAX else f"{self.url[:_URL_MAX]}..."
        shown = url if url.isprintable() else printable(url, None)
        return f"{shown} for {text.duration(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Waits:
    """The work that is left of a crawl in which no more requests begin."""

    open: int = 0
    """Requests whose responses have not ended."""
    oldest_open: Oldest | None = None
    processed: int = 0
    """Responses that callbacks, parse processes and processing modules work on."""
    oldest_processed: Oldest | None = None
    items: int = 0
    """Items in pipelines."""
    archived: int = 0
    """Pages that are being written to the archive."""
    committed: int = 0
    """Other changes on the way to the storage."""
    storage: str = "disk"
    """The place where the state of URLs is stored: ``disk``, ``Redis``."""
    stalled: str | None = None
    """The reason why nothing can be stored at the moment."""
    doing: str | None = None
    """The step by which the crawl is being closed, as a noun."""

    def __str__(self) -> str:
        return "; ".join(self._parts()) or "the next turn of the event loop"

    def _parts(self) -> Iterator[str]:
        if self.stalled:
            yield f"the storage ({self.stalled})"
        if self.doing:
            yield self.doing
        if self.open:
            yield f"{text.things(self.open, 'open request')}{_oldest(self.open, self.oldest_open)}"
        if self.processed:
            what = text.things(self.processed, "response")
            yield f"{what} being processed{_oldest(self.processed, self.oldest_processed)}"
        if self.items:
            yield f"{text.things(self.items, 'item')} in pipelines"
        if self.archived:
            yield f"{text.things(self.archived, 'page')} being written to the archive"
        if self.committed:
            yield f"{text.things(self.committed, 'change')} on the way to {_the(self.storage)}"


def _oldest(number: int, oldest: Oldest | None) -> str:
    if oldest is None:
        return ""
    return f" ({oldest})" if number == 1 else f" (the oldest: {oldest})"


def _the(storage: str) -> str:
    return "the disk" if storage == "disk" else storage
