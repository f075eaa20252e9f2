"""Whether redirects are followed as far as they should be, and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb import witness
from tests.gauntlet.judges.politeness import gap_row
from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.redirects import CHAINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Redirects"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge chains, loops and targets."""
    paths, limit = evidence.paths("start"), evidence.run.redirects
    yield complete(
        evidence, SECTION, "followed", f"Redirects are followed, relative, 307 and {limit} in a row.", "start"
    )
    lengths = {n: sum(path.startswith(f"/chain/{n}/") for path in paths) for n in CHAINS}
    yield judged(
        SECTION,
        "limit",
        f"A chain is left after {limit} redirects.",
        bool(paths) and all(0 < length <= limit + 1 for length in lengths.values()),
        f"requests in chains of {', '.join(map(str, CHAINS))}: {', '.join(map(str, lengths.values()))}",
    )
    loops = {
        name: sum(count for path, count in paths.items() if path.startswith(name))
        for name in ("/loop/", "/self", "/grow")
    }
    yield judged(
        SECTION,
        "loops",
        "Loops and chains without end are left.",
        bool(paths) and all(0 < count <= limit + 2 for count in loops.values()),
        ", ".join(f"{name} {count} requests" for name, count in loops.items()),
    )
    trespassed = evidence.trespassed("start", "goal", "closed")
    yield judged(
        SECTION,
        "forbidden",
        "A redirect to a page that robots.txt forbids is not followed, also on another host.",
        bool(evidence.paths("goal")) and not trespassed,
        f"{len(trespassed)} forbidden pages requested{naming(trespassed)}",
    )
    excluded = evidence.of("excluded")
    can = "exclusion" in evidence.run.can
    yield judged(
        SECTION,
        "excluded",
        "A redirect to an excluded host is not followed.",
        bool(paths) and not excluded if can else None,
        f"{len(excluded)} requests to the excluded host" if can else "this crawler has no option for it",
    )
    yield complete(evidence, SECTION, "cross-host", "A redirect to another host is followed.", "goal")
    early = [hit.path for hit in witness.pages_before_robots(evidence.hits)]
    yield judged(
        SECTION,
        "robots-first",
        "The target's robots.txt is fetched before the target.",
        bool(evidence.hits) and not early,
        f"{len(early)} pages requested before{naming(early)}",
    )
    yield gap_row(
        evidence, SECTION, "gap", "Redirects keep the delay of their host.", evidence.run.delay_seconds
    )
