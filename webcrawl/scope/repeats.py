"""Does the path say the same again and again, as links do that are resolved against the page they stand on?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links

LONGEST_PERIOD = 4
"""Segments that are said again together: ``/a/b/c/d/a/b/c/d/...``."""


class RepeatsRule:
    """Refuses URLs in whose path one to four segments stand more than ``limit`` times in a row."""

    name = "path-repeats"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def refuses(self, candidate: Candidate) -> str | None:
        path = candidate.url.partition("?")[0]
        # Two slashes stand before the host. Most paths are too short to say anything so often.
        if path.count("/") - 2 <= self._limit:
            return None
        segments = path.split("/")[3:]
        for period in range(1, LONGEST_PERIOD + 1):
            if _repeats(segments, period) > self._limit:
                return f"{period} segments {self._limit + 1} times in a row or more"
        return None

    def refuses_none(self, links: Links) -> bool:
        return links.slashes_most - 2 <= self._limit


def _repeats(segments: Sequence[str], period: int) -> int:
    """How often the same ``period`` segments stand in a row at most."""
    most = same = 0
    for at in range(period, len(segments)):
        same = same + 1 if segments[at] == segments[at - period] else 0
        most = max(most, same)
    return most // period + 1
