"""Whether sitemaps are read in all their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete
from tests.gauntlet.web.sitemaps import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence
    from tests.gauntlet.scorecard import Judged

SECTION = "Sitemaps"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each form."""
    for form, promise in FORMS.items():
        yield complete(evidence, SECTION, form, promise, form)
