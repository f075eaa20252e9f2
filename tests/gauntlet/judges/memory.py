"""Whether the memory of all processes of a crawl is bounded by bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.memory import LIMIT_BYTES, PAGE_BYTES, PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Memory"
PAGES_MIN = PAGES // 2
"""With fewer pages nothing was shown."""


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge the soak."""
    pages = sum(hit.complete and not hit.is_robots for hit in evidence.hits)
    peak = evidence.run.peak_bytes
    promise = (
        f"{PAGES} pages of {PAGE_BYTES / 1e6:.0f} MB from one host leave all processes together below"
        f" {LIMIT_BYTES / 1e6:.0f} MB."
    )
    yield judged(
        SECTION,
        "soak",
        promise,
        pages >= PAGES_MIN and 0 < peak <= LIMIT_BYTES,
        f"{pages} pages, at most {peak / 1e6:.0f} MB",
    )
