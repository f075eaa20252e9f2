"""Which stores a crawl has, and what they are given of its settings."""

from __future__ import annotations

from scrapy.settings import Settings

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.crawl import archiving

OTHER = "webcrawl.archive.fetchlog.FetchLog"


@each_row(
    ("given", "expected"),
    [
        ({}, [archiving.LINK_LOG]),
        ({"LINK_LOG_ENABLED": "0"}, []),
        ({"ARCHIVE_SINKS": OTHER}, [archiving.LINK_LOG, OTHER]),
        ({"ARCHIVE_SINKS": f"{OTHER},{archiving.LINK_LOG}"}, [archiving.LINK_LOG, OTHER]),
        ({"ARCHIVE_SINKS": archiving.LINK_LOG, "LINK_LOG_ENABLED": False}, [archiving.LINK_LOG]),
    ],
)
def test_the_link_log_comes_before_the_operators_own_stores(
    given: dict[str, object], expected: list[str]
) -> None:
    assert archiving.archive_sinks(Configuration.from_settings(Settings(given))) == expected


def test_a_store_is_given_plain_values_of_the_settings_that_it_names() -> None:
    settings = Settings({"CANONICAL_RULES": "drop_index", "LINK_LOG_ROLL_BYTES": "2048"})
    given = archiving.sink_settings(archiving.LINK_LOG, Configuration.from_settings(settings), settings)
    assert given == {"CANONICAL_RULES": ("drop_index",), "HOST_RULES_FILE": None, "LINK_LOG_ROLL_BYTES": 2048}
