"""The page of the gauntlet is what its measured scorecards say, and each of its rows has a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gauntlet import arena, documented
from tests.gauntlet.crawlers import CRAWLERS
from tests.gauntlet.scorecard import from_json
from tests.gauntlet.subjects import SUBJECTS

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_is_written_from_the_measured_scorecards() -> None:
    cards = from_json(documented.MEASURED.read_text())
    assert documented.page(cards) == documented.PAGE.read_text(), "run python -m tests.gauntlet docs"


def test_each_row_of_the_page_has_a_judge(tmp_path: Path) -> None:
    there = {(row.section, row.name) for row in arena.judge(list(SUBJECTS.values()), tmp_path)}
    cards = [card for card in from_json(documented.MEASURED.read_text()) if card.crawler in CRAWLERS]
    assert {card.crawler for card in cards} >= {
        "webcrawl",
        "scrapy",
        "scrapy-redis",
        "crawlee",
        "wget2",
        "httrack",
    }
    assert [row for card in cards for row in card.rows if (row.section, row.name) not in there] == []
