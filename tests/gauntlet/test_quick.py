"""One crawl of the gauntlet's web, as ``make test`` has it: the sites of many subjects at once, each judged alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.gauntlet import arena
from tests.gauntlet.crawlers.webcrawl import WebcrawlOnSqlite
from tests.gauntlet.subjects import SUBJECTS, TOGETHER
from tests.rows import each_row

if TYPE_CHECKING:
    from tests.gauntlet.scorecard import Judged


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    """All judgements of one crawl that is less patient than that of ``make gauntlet``."""
    # It takes 15 seconds where the machine has nothing else to do; elsewhere it is not stopped before its end.
    subjects = [
        replace(SUBJECTS[name], delay_seconds=0.1, request_seconds=3.0, limit_seconds=240.0)
        for name in TOGETHER
    ]
    with pytest.MonkeyPatch.context() as patched:
        # None of them is about memory, or is killed: to look at all processes ten times a second costs too much.
        patched.setattr(arena, "POLL_SECONDS", 0.5)
        return list(arena.run(WebcrawlOnSqlite(), subjects, tmp_path_factory.mktemp("gauntlet")))


@each_row("name", TOGETHER)
def test_no_promise_about_a_subject_is_broken(rows: list[Judged], name: str) -> None:
    section = SUBJECTS[name].section
    mine = [row for row in rows if row.section == section]
    assert mine, "nothing was judged"
    assert [f"{row.promise} {row.evidence}" for row in mine if row.has_failed] == []
