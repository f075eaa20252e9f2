"""One answer out of the indexes of several workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.search.engine import Found, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable


def merged(answers: Iterable[Found], limit: int) -> Found:
    """The best of all by their scores. A page that several have counts once, as it was fetched last; the count is of
    all, so it may have those twice that are not among the best.
    """
    best: dict[str, Hit] = {}
    count = twice = 0
    for found in answers:
        count += found.count
        for hit in found.hits:
            known = best.get(hit.url)
            twice += known is not None
            if known is None or hit.at > known.at:
                best[hit.url] = hit
    hits = sorted(best.values(), key=lambda hit: (-hit.score, hit.url))
    return Found(hits[:limit], count - twice)
