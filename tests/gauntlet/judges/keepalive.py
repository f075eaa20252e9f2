"""Whether pages are lost, or fetched twice, when servers close kept connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.keepalive import WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Kept connections"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each way in which a server closes."""
    twice = []
    for way, promise in WAYS.items():
        answered = [hit.path for hit in evidence.of(way) if hit.status == 200 and not hit.is_robots]
        wanted = evidence.site.hosts[way].wanted
        missed = sorted(wanted - set(answered))
        twice += [path for path in wanted if answered.count(path) > 1]
        yield judged(
            SECTION,
            way,
            promise,
            not missed,
            f"{len(wanted) - len(missed)} of {len(wanted)} pages answered, {len(evidence.of(way))} requests"
            + naming(missed, "; missed: "),
        )
    yield judged(
        SECTION,
        "once",
        "No page that was answered is requested again.",
        bool(evidence.hits) and not twice,
        f"{len(twice)} pages answered twice",
    )
