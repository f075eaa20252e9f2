"""Whether a crawl that is killed loses pages or repeats them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.resume import KILLS, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "kill -9"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge by what was requested before and after the kills."""
    if "resume" not in evidence.run.can:
        why = "this crawler has no option to go on after it was killed"
        yield judged(SECTION, "lost", "No page is lost.", None, why)
        yield judged(SECTION, "again", "Only what was in flight is requested again.", None, why)
        yield judged(SECTION, "ends", "The crawl ends with status 0 after that.", None, why)
        return
    kills = len(evidence.run.kills)
    row = complete(
        evidence,
        SECTION,
        "lost",
        f"No page is lost when a crawl is killed {len(KILLS)} times and started again.",
    )
    yield (
        row
        if kills == len(KILLS)
        else judged(SECTION, "lost", row.promise, False, f"killed {kills} times only")
    )
    counts = Counter(
        {host + path: n for host in evidence.site.hosts for path, n in evidence.paths(host).items()}
    )
    again = sorted(path for path, number in counts.items() if number > 1)
    extra = counts.total() - len(counts)
    open_at_most = REQUESTS * max(1, len(evidence.run.exit_statuses))
    yield judged(
        SECTION,
        "again",
        f"Only what was in flight is requested again: at most the {REQUESTS} requests that a process may have open.",
        bool(counts) and extra <= open_at_most * kills,
        f"{extra} requests more than {len(counts)} pages after {kills} kills{naming(again)}",
    )
    run = evidence.run
    yield judged(
        SECTION,
        "ends",
        "The crawl ends with status 0 after that.",
        bool(kills) and run.ended and not any(run.exit_statuses),
        f"exit status {', '.join(map(str, run.exit_statuses))} after {run.seconds:.0f} s",
    )
