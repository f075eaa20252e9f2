"""Whether answers without end are ended, and leave the rest of the crawl alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.slow import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Slow and endless"
GRACE_SECONDS = 3.0
SENT_MAX = 64 * 2**20
"""Bytes that one answer may get rid of; buffers of the system included."""


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each answer, and what is beside and behind it."""
    limit = evidence.run.request_seconds + GRACE_SECONDS
    for name, (promise, _) in PARTS.items():
        worst = [hit for hit in evidence.of(name) if hit.path == "/worst"]
        longest = max((hit.end_mono - hit.start_mono for hit in worst), default=0.0)
        sent = max((hit.sent for hit in worst), default=0)
        kept = bool(worst) and longest <= limit and sent <= SENT_MAX
        yield judged(
            SECTION,
            name,
            f"{promise[:-1]} within {limit:g} s and {SENT_MAX >> 20} MiB.",
            kept,
            f"{len(worst)} requests, the longest {longest:.1f} s and {sent / 1e6:.1f} MB",
        )
    yield complete(evidence, SECTION, "beside", "A host beside them is crawled completely.", "ordinary")
    behind = [name for name in PARTS if "/after" not in evidence.paths(name)]
    yield judged(
        SECTION,
        "behind",
        "The page behind such an answer is requested, too.",
        bool(evidence.hits) and not behind,
        f"{len(PARTS) - len(behind)} of {len(PARTS)} pages requested{naming(behind, '; missed: ')}",
    )
