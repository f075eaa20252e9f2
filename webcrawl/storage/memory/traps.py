"""The quarantine in plain dictionaries: it ends with the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from webcrawl.features.traps.quarantine import Kept, Trap, Withheld


class MemoryTraps:
    """The executable specification of the contract."""

    def __init__(self) -> None:
        self._traps: dict[str, Trap] = {}
        self._owed: dict[str, dict[str, Withheld]] = {}
        self._counts: dict[str, int] = {}
        self._version = 0

    async def version(self) -> str:
        return str(self._version)

    async def traps(self) -> list[Trap]:
        found = [replace(trap, withheld=self._counts.get(trap.pattern, 0)) for trap in self._traps.values()]
        return sorted(found, key=lambda trap: (trap.since, trap.pattern))

    async def add(self, traps: Sequence[Trap]) -> None:
        for trap in traps:
            self._traps.setdefault(trap.pattern, trap)
        self._version += bool(traps)

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        for pattern, one in kept.items():
            self._counts[pattern] = self._counts.get(pattern, 0) + one.count
            owed = self._owed.setdefault(pattern, {})
            for withheld in one.urls:
                if len(owed) < most:
                    owed.setdefault(withheld.url, withheld)

    async def release(self, patterns: Sequence[str], now: float) -> None:
        for pattern in patterns:
            trap = self._traps.get(pattern)
            if trap is not None and trap.released_at is None:
                self._traps[pattern] = replace(trap, released_at=now)
                self._version += 1

    async def owed(self, pattern: str, most: int) -> list[Withheld]:
        return list(self._owed.get(pattern, {}).values())[:most]

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        owed = self._owed.get(pattern, {})
        for url in urls:
            owed.pop(url, None)

    async def claim(self, who: str, seconds: float) -> bool:
        return True
