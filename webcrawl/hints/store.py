"""The contract of the places where the trust in sites is kept."""

from __future__ import annotations

from typing import Protocol

from webcrawl.hints.trust import Trust


class TrustStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError. What two processes save at the same time for
    the same site is the one or the other: it is a sample anyway.
    """

    async def open(self) -> None:
        """Make ready. :raises webcrawl.errors.StartRefused: it cannot be used"""
        ...

    async def load(self, key: str) -> Trust:
        """The trust in a politeness key; that in a stranger where nothing is known."""
        ...

    async def save(self, key: str, trust: Trust) -> None: ...

    async def close(self) -> None: ...
