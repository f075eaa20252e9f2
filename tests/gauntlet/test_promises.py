"""Each command, endpoint, live setting, exit status and row of the README's settings has a promise with a judge."""

from __future__ import annotations

from collections import Counter

from tests.gauntlet.promises import read
from tests.gauntlet.promises.stages import STAGES
from tests.gauntlet.promises.table import JUDGES, KINDS, TECHNOLOGIES
from webcrawl.features.steering.live_settings import LIVE

ROWS = read()


def names(kind: str) -> set[str]:
    return {row.name for row in ROWS if row.kind == kind}


def test_each_row_is_of_a_known_kind_and_has_a_judge_and_a_stage() -> None:
    wrong = [
        row.name
        for row in ROWS
        if row.judge not in JUDGES
        or row.kind not in KINDS
        or row.stage not in STAGES
        or not {*row.on} <= {*TECHNOLOGIES}
        or not row.says.endswith(".")
    ]
    assert wrong == []


def test_no_promise_is_there_twice_and_no_judge_is_idle() -> None:
    assert [
        found for found, number in Counter((row.kind, row.name) for row in ROWS).items() if number > 1
    ] == []
    assert sorted(JUDGES.keys() - {row.judge for row in ROWS}) == []


def test_each_live_setting_has_its_promise() -> None:
    assert names("live setting") == {*LIVE} - {
        "CLOSESPIDER_PAGECOUNT",
        "CLOSESPIDER_TIMEOUT",
        "CLOSESPIDER_ITEMCOUNT",
        "CLOSESPIDER_ERRORCOUNT",
        "REQUESTS_PER_KEY_MAX",
        "PAGE_BUDGET",
    }
