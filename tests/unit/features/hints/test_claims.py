"""What a sitemap or feed says of a page, and whether it means that the page has changed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.rows import each_row
from webcrawl.features.hints.hints import Claim
from webcrawl.features.revisits.estimate import History

CASES = json.loads((Path(__file__).parents[3] / "data/hints_claims.json").read_text("utf-8"))


@each_row("case", CASES, ids=lambda case: case["name"])
def test_a_claim_is_held_against_the_last_visit(case: dict) -> None:
    text = None if case["told"] is None else json.dumps(case["told"])
    claim = Claim.of(7, text)
    if case["changed"] is None:
        assert claim is None
    else:
        assert claim is not None
        assert claim.fingerprint == 7
        assert claim.says_changed(History.first(case["last_at"]), case["now"]) is case["changed"]
