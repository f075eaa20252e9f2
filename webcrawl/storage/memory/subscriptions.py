"""Subscriptions in plain dictionaries: they end with the process."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from webcrawl.features.websub.store import KEY_BYTES
from webcrawl.features.websub.subscription import Subscription


class MemorySubscriptions:
    """The executable specification of the contract."""

    def __init__(self) -> None:
        self._known: dict[str, Subscription] = {}
        self._key = secrets.token_bytes(KEY_BYTES)

    async def open(self) -> None:
        """Nothing to do."""

    async def key(self) -> bytes:
        return self._key

    async def get(self, token: str) -> Subscription | None:
        return self._known.get(token)

    async def of_topics(self, topics: Sequence[str]) -> list[Subscription]:
        return [one for one in self._known.values() if one.topic in topics]

    async def due(self, now: float, most: int) -> list[Subscription]:
        found = [one for one in self._known.values() if one.due_at <= now]
        return sorted(found, key=lambda one: (one.due_at, one.token))[:most]

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        one = after or before
        assert one is not None
        if self._known.get(one.token) != before:
            return False
        if after is None:
            del self._known[one.token]
        else:
            self._known[one.token] = after
        return True

    async def count(self, key: str | None = None) -> int:
        return sum(key in (None, one.key) for one in self._known.values())

    async def some(self, after: str, most: int) -> list[Subscription]:
        return [self._known[token] for token in sorted(self._known) if token > after][:most]

    async def close(self) -> None:
        """Nothing to do."""
