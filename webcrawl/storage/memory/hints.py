"""The trust in the hints of sites in a dictionary: it ends with the process."""

from __future__ import annotations

from webcrawl.features.hints.trust import Trust


class MemoryTrust:
    """The executable specification of the contract."""

    def __init__(self) -> None:
        self._known: dict[str, Trust] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def load(self, key: str) -> Trust:
        return self._known.get(key) or Trust()

    async def save(self, key: str, trust: Trust) -> None:
        self._known[key] = trust

    async def close(self) -> None:
        """Nothing to do."""
