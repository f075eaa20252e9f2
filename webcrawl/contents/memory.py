"""The content-seen test in memory: what it does is what all stores do."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.contents.seen import Body, Met, Original


class MemoryContents:
    """A ``ContentStore`` that ends with its process."""

    def __init__(self) -> None:
        self._originals: dict[bytes, Original] = {}
        self._pages: dict[int, bytes] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def meet(self, bodies: Sequence[Body]) -> list[Met]:
        return [self._meet(body) for body in bodies]

    def _meet(self, body: Body) -> Met:
        original = self._originals.setdefault(body.digest, Original(body.url, round(body.at, 3)))
        before = self._pages.get(body.page)
        self._pages[body.page] = body.digest
        changed = None if before is None else before != body.digest
        return Met(None if original.url == body.url else original, changed)

    async def close(self) -> None:
        """Nothing to do."""
