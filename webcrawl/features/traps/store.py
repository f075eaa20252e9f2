"""Contract of the stores that keep a crawl's trap quarantine, so that it survives a process and is shared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from webcrawl.features.traps.quarantine import Kept, Trap, Withheld


class TrapStore(Protocol):
    """Every method may raise the CrawlError of its storage; then nothing was changed, or the call can safely be
    repeated."""

    async def version(self) -> str:
        """Return a text that differs after each change of a pattern; withheld URLs do not change it."""
        ...

    async def traps(self) -> list[Trap]:
        """Return all patterns that are or were in quarantine, oldest first, with the number of URLs withheld."""
        ...

    async def add(self, traps: Sequence[Trap]) -> None:
        """Put patterns into quarantine; known patterns stay unchanged, including released ones."""
        ...

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        """Record withheld URLs, by pattern. ``most`` URLs of each pattern are stored; the rest is only counted."""
        ...

    async def release(self, patterns: Sequence[str], now: float) -> None:
        """Release patterns at ``now``, in epoch seconds: none of their URLs is withheld from then on."""
        ...

    async def owed(self, pattern: str, most: int) -> list[Withheld]:
        """Return up to ``most`` of the stored URLs of a pattern."""
        ...

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        """Delete the stored URLs: they are in the queue again or can no longer be queued."""
        ...

    async def claim(self, who: str, seconds: float) -> bool:
        """Return whether ``who`` has the exclusive right to queue released URLs, for ``seconds`` from now; it can be
        renewed."""
        ...


def pack_trap(trap: Trap) -> str:
    """A pattern as text, without the count of what was withheld."""
    return json.dumps(asdict(replace(trap, withheld=0)))


def unpack_trap(text: str | bytes, withheld: int) -> Trap:
    """Parse a pattern. :raises ValueError: the text is not a stored pattern"""
    try:
        said: dict[str, Any] = json.loads(text)
        released = said["released_at"]
        return Trap(
            str(said["pattern"]),
            str(said["why"]),
            float(said["since"]),
            int(said["looked"]),
            tuple(map(str, said["samples"])),
            None if released is None else float(released),
            withheld,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no pattern: {error}") from error
