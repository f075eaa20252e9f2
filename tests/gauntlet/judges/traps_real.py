"""Whether a crawl of real software comes to an end, by what the software has answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.gauntlet import software
from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.traps_real import CONTENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Real software"
REPEATED_MAX = {"datasette": 0.25, "hgweb": 0.33}
"""The share of answers that may say nothing but what an earlier one has said. The smaller the site, the greater is
the part of those that prove that a parameter changes nothing.
"""
REQUESTS_MAX = {"datasette": 2_500, "hgweb": 600}
"""For 440 rows in two tables (each as page and as JSON, with lists of them), and for 60 changesets, each
with a page, a list, a graph, its files and its patch."""
TITLES = {
    "datasette": "Datasette with tables of 180 and 260 rows",
    "hgweb": f"hgweb with {software.COMMITS} changesets",
}


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each program."""
    path = evidence.folder / CONTENTS
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    versions = software.versions() if path.exists() else "not installed"
    for name, title in TITLES.items():
        yield from _one(evidence, name, title, [line for line in lines if line["host"] == name], versions)
    row = complete(evidence, SECTION, "rows", "Every row of a Datasette has its page requested.", "datasette")
    yield row if lines else judged(SECTION, "rows", row.promise, None, versions)
    yield _changesets(evidence, bool(lines))


def _one(
    evidence: Evidence, name: str, title: str, lines: list[dict[str, Any]], versions: str
) -> Iterator[Judged]:
    ending, repeating = f"{title} takes at most {REQUESTS_MAX[name]:,} requests.", _repeating(name, title)
    if not lines:
        yield judged(SECTION, f"{name}-requests", ending, None, versions)
        yield judged(SECTION, f"{name}-repeated", repeating, None, versions)
        return
    answered = [line for line in lines if line["status"] == 200]
    distinct = len({line["digest"] for line in answered})
    ended = "ended" if evidence.run.ended else f"still going on after {evidence.run.seconds:.0f} s"
    figures = f"{len(lines):,} requests for {distinct:,} contents, {ended} ({versions})"
    kept = len(lines) <= REQUESTS_MAX[name] and (evidence.run.ended or len(lines) < REQUESTS_MAX[name] / 2)
    yield judged(SECTION, f"{name}-requests", ending, kept, figures)
    repeated = len(answered) - distinct
    share = repeated / len(answered) if answered else 1.0
    yield judged(
        SECTION,
        f"{name}-repeated",
        repeating,
        share <= REPEATED_MAX[name],
        f"{repeated:,} of {len(answered):,} answers, {share:.0%}",
    )


def _repeating(name: str, title: str) -> str:
    return f"At most {REPEATED_MAX[name]:.0%} of the answers of {title} say nothing new."


def _changesets(evidence: Evidence, is_there: bool) -> Judged:
    promise = "Every changeset of an hgweb has its page requested."
    if not is_there:
        return judged(SECTION, "changesets", promise, None, "not installed")
    paths = evidence.paths("hgweb")
    wanted = software.changesets(evidence.folder / "repository")
    missed = [node for node in wanted if not any(path.startswith(f"/rev/{node}") for path in paths)]
    return judged(
        SECTION,
        "changesets",
        promise,
        not missed,
        f"{len(wanted) - len(missed)} of {len(wanted)} requested{naming(missed)}",
    )
