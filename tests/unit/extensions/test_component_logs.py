"""Each component's messages are in a file of its own, and a component without messages has none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tests.rows import each_row
from webcrawl.extensions.component_logs import Splitting, find_component

if TYPE_CHECKING:
    from pathlib import Path


@each_row(
    ("logger", "component"),
    [
        ("webcrawl.frontier.frontier", "frontier"),
        ("webcrawl.scheduler", "frontier"),
        ("webcrawl.downloadermiddlewares.robots", "fetch"),
        ("webcrawl.archive.fetchlog", "archive"),
        ("webcrawl.extensions.summary", "crawl"),
        ("scrapy.core.engine", "scrapy"),
        ("broad", "others"),
        ("webcrawlers", "others"),
    ],
)
def test_a_logger_belongs_to_one_component(logger: str, component: str) -> None:
    assert find_component(logger) == component


def test_messages_are_split_by_component_from_the_level_on(tmp_path: Path) -> None:
    handler = Splitting(tmp_path, logging.INFO, 10_000_000, 30)
    for name, level in (
        ("webcrawl.frontier.shared_clocks", logging.INFO),
        ("webcrawl.archive.warc", logging.WARNING),
        ("webcrawl.engine.engine", logging.DEBUG),
    ):
        record = logging.LogRecord(name, level, __file__, 1, "told by %s", (name,), None)
        if record.levelno >= handler.level:
            handler.handle(record)
    handler.close()

    assert {path.name for path in tmp_path.iterdir()} == {"frontier.log", "archive.log"}
    assert "[webcrawl.frontier.shared_clocks] INFO: told by webcrawl.frontier.shared_clocks\n" in (
        tmp_path / "frontier.log"
    ).read_text(encoding="utf-8")
