"""The contract of the places where the quarantine of a crawl is kept, so that it outlives a process and is shared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from webcrawl.features.traps.quarantine import Kept, Trap, Withheld


class TrapStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError; then nothing was changed, or what was may be
    done again.
    """

    async def version(self) -> str:
        """Another text after each change of a pattern; what is withheld does not count."""
        ...

    async def traps(self) -> list[Trap]:
        """All patterns that are or were in quarantine, those first that are there longest, with how many URLs were
        withheld.
        """
        ...

    async def add(self, traps: Sequence[Trap]) -> None:
        """Put patterns into quarantine; those that are known stay as they are, also where they were released."""
        ...

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        """URLs were withheld, by patterns. Of each pattern ``most`` URLs are remembered, the rest only counted."""
        ...

    async def release(self, patterns: Sequence[str], now: float) -> None:
        """Let patterns go, at ``now`` in epoch seconds: from now on nothing is withheld of them."""
        ...

    async def owed(self, pattern: str, most: int) -> list[Withheld]:
        """Some of the URLs that are remembered of a pattern."""
        ...

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        """These are in the queue again, or not to be had: they are remembered no more."""
        ...

    async def claim(self, who: str, seconds: float) -> bool:
        """Whether ``who`` is the one that may queue what is owed, for so long from now on; again and again if need
        be.
        """
        ...


def pack_trap(trap: Trap) -> str:
    """A pattern as text, without the count of what was withheld."""
    return json.dumps(asdict(replace(trap, withheld=0)))


def unpack_trap(text: str | bytes, withheld: int) -> Trap:
    """:raises ValueError: it is none"""
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
