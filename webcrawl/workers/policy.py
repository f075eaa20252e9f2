"""The decisions of the parent of several workers, without processes and with the time as an argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PAUSES = (1.0, 5.0, 15.0, 60.0)
"""Seconds before each new start of a worker that was killed; after the last one it is given up."""
STEADY_SECONDS = 900.0
"""A worker that ran for this long was killed for another reason than the time before."""

ERROR = 1
WRONG = 2
"""Exit statuses of ``scrapy crawl``: it ended because of errors; it did not start."""

_FINISHED = "finished"
_OWN_ENDS = frozenset({_FINISHED, "closespider_pagecount", "closespider_itemcount"})
"""Close reasons of a worker that leaves the rest of the crawl to the others: these limits are divided among them."""


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """The end of the process of a worker."""

    status: int
    """The exit status; negative for a signal."""
    reason: str | None
    """Scrapy's close reason; None if it has recorded none."""
    is_restart: bool = False
    """True if an earlier process of this worker was killed. If this one could not begin, nothing is wrong with the
    crawl: the server may be away, since it was killed too."""

    @property
    def is_refused(self) -> bool:
        """True if the crawl cannot begin."""
        return self.status == WRONG and not self.is_restart

    @property
    def is_killed(self) -> bool:
        """True if it is to be started again: it ended neither by itself nor because it was refused, but by a signal,
        for lack of memory, or when it could not begin again."""
        return self.status not in (0, ERROR) and not self.is_refused

    @property
    def ends_crawl(self) -> bool:
        """True if the others are to stop too: what ended it would end a crawl of one process."""
        return not self.is_killed and (
            self.status != 0 or (self.reason is not None and self.reason not in _OWN_ENDS)
        )


@dataclass(slots=True)
class Restarts:
    """The starts of one worker."""

    _pauses: list[float] = field(default_factory=lambda: list(PAUSES))

    def pause(self, lived_seconds: float) -> float | None:
        """Return the seconds before a worker that lived so long is started again; None if it is given up."""
        if lived_seconds >= STEADY_SECONDS:
            self._pauses = list(PAUSES)
        return self._pauses.pop(0) if self._pauses else None


def shares(total: int, workers: int) -> list[int]:
    """Divide a limit among at most so many workers; their sum is ``total``, and none is 0."""
    number = min(total, workers)
    return [total // number + (place < total % number) for place in range(number)]


def exit_status(ends: Sequence[WorkerExit]) -> int:
    """Return the exit status of the crawl: 2 if a worker was refused, 1 if one ended because of errors or was given
    up, else 0."""
    if any(end.is_refused for end in ends):
        return WRONG
    return ERROR if any(end.status for end in ends) else 0


def close_reason(ends: Sequence[WorkerExit]) -> str:
    """Return the close reason of the crawl: the one that ended it, or the one with which its workers ended."""
    reasons = [end.reason for end in ends if end.reason is not None]
    wrong = [end.reason for end in ends if end.status and end.reason is not None]
    other = [reason for reason in reasons if reason != _FINISHED]
    return next(iter([*wrong, *other, *reasons]), "shutdown")
