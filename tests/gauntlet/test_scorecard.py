"""The forms of the scorecard."""

from __future__ import annotations

from tests.gauntlet.scorecard import Scorecard, Verdict, judged, side_by_side

CARD = Scorecard(
    "webcrawl",
    "0.1",
    "python -m tests.gauntlet",
    [
        judged("Politeness", "gap", "A host waits 1 s.", True, "shortest gap 1.02 s of 38", 9.5),
        judged("Politeness", "alone", "One request | host.", False, "2 open at once"),
        judged("Traps", "days", "A calendar ends.", None, "no limit of pages"),
    ],
)


def test_json_gives_the_same_scorecard_back() -> None:
    assert Scorecard.from_json(CARD.to_json()) == CARD


def test_one_broken_promise_decides_the_exit_status() -> None:
    assert [row.name for row in CARD.failed] == ["alone"]
    assert CARD.exit_status == 1
    assert Scorecard("webcrawl", rows=[CARD.rows[0], CARD.rows[2]]).exit_status == 0
    assert Scorecard("webcrawl").exit_status == 1, "a scorecard without a row has shown nothing"


def test_text_and_markdown_have_each_row_with_verdict_and_evidence() -> None:
    text = CARD.to_text()
    assert "FAIL  Politeness/alone: One request | host. (0.0 s)\n      2 open at once\n" in text
    assert text.endswith("webcrawl 0.1: 3 promises judged: 1 pass, 1 fail, 1 not applicable\n")
    assert "| One request \\| host. | fail | 2 open at once |" in CARD.to_markdown()
    assert CARD.to_markdown().count("### ") == 2


def test_crawlers_stand_side_by_side() -> None:
    peer = Scorecard("other", "7", rows=[judged("Traps", "days", "A calendar ends.", False, "5,000 days")])
    assert "| A calendar ends. | not applicable | fail |" in side_by_side([CARD, peer])
    assert f"| A host waits 1 s. | {Verdict.PASS} | - |" in side_by_side([CARD, peer])
