"""Each command, endpoint, live setting, exit status and row of the README's settings has a promise with a judge."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet.promises import read
from tests.gauntlet.promises.stages import STAGES
from tests.gauntlet.promises.table import JUDGES, KINDS, TECHNOLOGIES
from webcrawl.features.steering.live_settings import LIVE

if TYPE_CHECKING:
    pass

ROOT = Path(__file__).parents[2]
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
    counts = Counter((row.kind, row.name) for row in ROWS)
    assert [found for found, number in counts.items() if number > 1] == []
    assert sorted(JUDGES.keys() - {row.judge for row in ROWS}) == []


def test_each_live_setting_has_its_promise() -> None:
    assert names("live setting") == {*LIVE}


def test_each_setting_that_matters_first_has_its_promise() -> None:
    readme = (ROOT / "README.md").read_text()
    table = readme.partition("## Settings that matter first\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE)
    settings = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert len(settings) >= 10
    assert sorted(settings - names("setting")) == []
