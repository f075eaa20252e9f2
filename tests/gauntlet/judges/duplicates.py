"""Whether one page is requested once however its URL is written, and copies come to an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web.duplicates import COPIES, SPELLINGS, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Duplicates"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge spellings and copies."""
    paths = evidence.paths("spellings")
    wrong = []
    for way, links in SPELLINGS.items():
        target = plain(links[-1].partition("#")[0])
        count = sum(number for path, number in paths.items() if plain(path) == target)
        wrong += [f"{way} {count}"] if count != 1 else []
    yield judged(
        SECTION,
        "spellings",
        "A page that is linked in several spellings is requested once.",
        bool(paths) and not wrong,
        f"{len(SPELLINGS) - len(wrong)} of {len(SPELLINGS)} kinds of spellings requested once{naming(wrong, '; ')}",
    )
    copies = sum(count for path, count in evidence.paths("copies").items() if path.startswith("/copy"))
    yield judged(
        SECTION,
        "copies",
        f"Endless copies of a page are left after at most {COPIES}.",
        0 < copies <= COPIES,
        f"{copies} copies requested in {evidence.run.seconds:.0f} s",
    )
    yield complete(evidence, SECTION, "complete", "Pages beside them are requested.")
