"""The contract of the places where subscriptions are kept, so that they outlive a process and are shared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from webcrawl.features.websub.subscription import State, Subscription

KEY_BYTES = 32
"""Of the crawl's key, from which callback URLs and secrets are made."""


class SubscriptionStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError; then nothing was changed, or what was may be
    done again.
    """

    async def open(self) -> None:
        """Make ready. :raises webcrawl.errors.StartRefused: it cannot be used"""
        ...

    async def key(self) -> bytes:
        """The crawl's key: random bytes, made by whoever asks first, and the same for all."""
        ...

    async def get(self, token: str) -> Subscription | None: ...

    async def of_topics(self, topics: Sequence[str]) -> Sequence[Subscription]:
        """All there are of some topics, each named once, at whichever hub, in no order."""
        ...

    async def due(self, now: float, most: int) -> Sequence[Subscription]:
        """Some of those with ``due_at`` up to ``now``, those first that wait longest. They stay as they are."""
        ...

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        """Put ``after`` in the place of ``before``, None for none, in one step and only if it still is as it was.

        At least one of both is given, and both have the same token, topic and key.
        """
        ...

    async def count(self, key: str | None = None) -> int:
        """How many there are, in all states; of the topics of one politeness key, if it is given."""
        ...

    async def some(self, after: str, most: int) -> Sequence[Subscription]:
        """The next ones behind the token ``after`` in an order of the store's own; "" for the first."""
        ...

    async def close(self) -> None: ...


def pack(one: Subscription) -> str:
    """The same text for what is the same."""
    return json.dumps(asdict(one), separators=(",", ":"))


def unpack(text: str | bytes) -> Subscription:
    """:raises ValueError: it is none"""
    try:
        said = json.loads(text)
        return Subscription(**{**said, "state": State(said["state"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"no subscription: {error}") from error
