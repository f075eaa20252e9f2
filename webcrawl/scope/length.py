"""Is the URL of a length that servers and people deal in, or does something generate it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links

DEFAULT_LIMIT_BYTES = 2083


class LengthRule:
    """Refuses URLs of more than ``limit_bytes``; 0 refuses none. A resolved URL is ASCII."""

    name = "length"

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        length = len(candidate.url)
        return None if length <= self._limit else f"{length} bytes, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return max(map(len, links.urls), default=0) <= self._limit
