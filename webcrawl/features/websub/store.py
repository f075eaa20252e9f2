"""Contract of the stores that keep subscriptions, so that they survive a process and are shared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from webcrawl.features.websub.subscription import State, Subscription

KEY_BYTES = 32
"""Length of the crawl's key, from which callback URLs and secrets are derived."""


class SubscriptionStore(Protocol):
    """Every method may raise the CrawlError of its storage; then nothing was changed, or the call can safely be
    repeated."""

    async def open(self) -> None:
        """Open the store. :raises webcrawl.errors.StartRefused: it cannot be used"""
        ...

    async def key(self) -> bytes:
        """Return the crawl's key: random bytes, created by the first call, and the same for all processes."""
        ...

    async def get(self, token: str) -> Subscription | None: ...

    async def of_topics(self, topics: Sequence[str]) -> Sequence[Subscription]:
        """Return all subscriptions of some topics, each topic given once, at any hub, in no order."""
        ...

    async def due(self, now: float, most: int) -> Sequence[Subscription]:
        """Return up to ``most`` subscriptions with ``due_at`` up to ``now``, longest due first. They stay
        unchanged."""
        ...

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        """Replace ``before`` by ``after``, None for none, in one step and only if the stored one still equals
        ``before``.

        At least one of both is given, and both have the same token, topic and key.
        """
        ...

    async def count(self, key: str | None = None) -> int:
        """Return the number of subscriptions in all states; of the topics of one politeness key, if it is given."""
        ...

    async def some(self, after: str, most: int) -> Sequence[Subscription]:
        """Return the next subscriptions after the token ``after`` in the store's own order; "" for the first."""
        ...

    async def close(self) -> None: ...


def pack(one: Subscription) -> str:
    """Return a subscription as text; equal subscriptions give equal texts."""
    return json.dumps(asdict(one), separators=(",", ":"))


def unpack(text: str | bytes) -> Subscription:
    """Parse a subscription. :raises ValueError: the text is none"""
    try:
        said = json.loads(text)
        return Subscription(**{**said, "state": State(said["state"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"no subscription: {error}") from error
