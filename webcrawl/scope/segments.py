"""Is the path as deep as paths are that somebody made, or does it grow by itself?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links


class SegmentsRule:
    """Refuses URLs whose path has more than ``limit`` segments; ``/a/b/`` and ``/a/b`` have two."""

    name = "path-segments"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes stand before the host, and one begins the path.
        segments = path.count("/") - 2 - path.endswith("/")
        return None if segments <= self._limit else f"{segments} segments, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return links.slashes_most - 2 <= self._limit
