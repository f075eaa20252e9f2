"""Whether a crawl leaves traps, and finds everything beside them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.fakeweb.labyrinth import is_trap
from tests.gauntlet.judges.rows import complete
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.traps import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Traps"
MEAN_MAX, MOST = 60, 150
"""Requests into one kind of trap, on average and at most."""


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge the labyrinth."""
    yield complete(evidence, SECTION, "real", "Every real page beside the traps is requested.")
    counts: Counter[str] = Counter()
    for path, number in evidence.paths("labyrinth").items():
        if is_trap(path):
            counts[path.split("/")[1]] += number
    worst = max(counts, key=lambda name: counts[name], default="")
    kept = bool(counts) and counts.total() <= MEAN_MAX * len(NAMES) and counts[worst] <= MOST
    yield judged(
        SECTION,
        "requests",
        f"{len(NAMES)} kinds of endless traps get at most {MEAN_MAX} requests on average and {MOST} each.",
        kept,
        f"{counts.total()} requests, the most {counts[worst]} ({worst})",
    )
    yield judged(
        SECTION,
        "ends",
        "A crawl of endless traps ends by itself.",
        bool(counts) and evidence.run.ended,
        f"{'ended' if evidence.run.ended else 'was stopped'} after {evidence.run.seconds:.0f} s",
    )
