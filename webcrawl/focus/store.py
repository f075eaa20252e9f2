"""The contract of the places where what is learned is kept, so that it outlives a process and is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from webcrawl.focus.learner import Learner

SAVE_SECONDS = 10.0
"""How much may be learned before it is kept: a crash forgets what was learned since."""


class LearnerStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError; then it is called again later, and nothing that
    was learned is lost. While it works nobody else learns.
    """

    async def begin(self, learner: Learner) -> bool:
        """Have the learner know what was learned before. Whether there was anything."""
        ...

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        """Keep what was learned, if it is time or the ``last`` time, and hear of others. ``now``: seconds by any
        clock. Whether anything came from others.
        """
        ...


class NoStore:
    """Of a crawl that leaves nothing behind."""

    async def begin(self, learner: Learner) -> bool:
        return False

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        learner.weights.take_news()
        return False
