"""Whether small answers that are huge inside do harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.bombs import KINDS, LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Bombs"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge what was fetched behind each, and the memory."""
    for kind, promise in KINDS.items():
        yield complete(evidence, SECTION, kind, promise, kind)
    peak = evidence.run.peak_bytes
    yield judged(
        SECTION,
        "memory",
        f"All processes of the crawl together stay below {LIMIT_BYTES // 10**6} MB.",
        bool(evidence.hits) and 0 < peak <= LIMIT_BYTES,
        f"at most {peak / 1e6:.0f} MB",
    )
