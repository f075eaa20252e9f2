"""The content-seen test in memory, the specification of the other stores."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.features.content_seen.content_seen import Body, ContentLookup, Original


class MemoryContents:
    """A ``ContentStore`` that ends with its process."""

    def __init__(self) -> None:
        self._originals: dict[bytes, tuple[Body, bool]] = {}
        """Digest -> (body, True if the archive has it)."""
        self._pages: dict[int, bytes] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        return [self._meet(body) for body in bodies]

    def _meet(self, body: Body) -> ContentLookup:
        changed = self._changed(body)
        original, kept = self._originals.setdefault(body.digest, (body, False))
        if original.url == body.url and not kept:
            self._originals[body.digest] = body, False
            return ContentLookup(changed=changed, first=True)
        place = Original(original.url, original.at)
        return ContentLookup(
            None if original.url == body.url else place,
            changed,
            place if kept and original.payload == body.payload else None,
        )

    def _changed(self, body: Body) -> bool | None:
        if body.page is None:
            return None
        before = self._pages.get(body.page)
        self._pages[body.page] = body.digest
        return None if before is None else before != body.digest

    async def keep(self, bodies: Sequence[Body]) -> None:
        self._originals |= {body.digest: (body, True) for body in bodies}

    async def close(self) -> None:
        """Nothing to do."""
