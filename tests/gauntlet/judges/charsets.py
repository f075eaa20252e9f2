"""Whether links in legacy encodings are found, as browsers read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet.judges.rows import complete
from tests.gauntlet.web.charsets import CHARSETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence
    from tests.gauntlet.scorecard import Judged

SECTION = "Encodings"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge each encoding."""
    for one in CHARSETS:
        where = {"bom": "a byte order mark"}.get(one.declared, f"the {one.declared}")
        promise = f"Links of a page in {one.label}, declared by {where}, lead where browsers go."
        yield complete(evidence, SECTION, one.name, promise, one.name)
