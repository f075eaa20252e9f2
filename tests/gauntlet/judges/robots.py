"""Whether robots.txt is obeyed in each of its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import obedient
from tests.gauntlet.web.robots import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence
    from tests.gauntlet.scorecard import Judged

SECTION = "robots.txt"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each state."""
    for state in STATES:
        yield obedient(evidence, SECTION, state.name, state.promise, state.name)
