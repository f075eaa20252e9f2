"""Is the URL near enough to the seeds?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links


class DepthRule:
    """Refuses URLs more than ``limit`` links away from every seed; 0 refuses none."""

    name = "depth"

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit or float("inf")

    def refuses(self, candidate: Candidate) -> str | None:
        return None if candidate.depth <= self._limit else f"depth {candidate.depth}, {self._limit} allowed"

    def refuses_none(self, links: Links) -> bool:
        return links.depth <= self._limit
