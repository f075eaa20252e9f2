"""Per-URL messages are made only for those who read them, and failed downloads are one line."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import CannotResolveHostError
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from webcrawl import fetch_errors
from webcrawl.logs import (
    QuietLogFormatter,
    follow_level,
    hush_inventory,
    log_level,
    set_level,
    unfollow_level,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SPIDER = Spider(name="broad")
REQUEST = Request("http://a.test/")
RESPONSE = Response("http://a.test/", request=REQUEST)


@pytest.fixture(autouse=True)
def _filters_as_before() -> Iterator[None]:
    names = [
        "scrapy.core.scraper",
        "scrapy.addons",
        "scrapy.crawler",
        "scrapy.middleware",
        "scrapy.utils.log",
    ]
    before = {name: list(logging.getLogger(name).filters) for name in names}
    for name in names:
        # A test of another file may have hushed them.
        logging.getLogger(name).filters = []
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_above_debug_nothing_is_formatted_for_a_page(level: int) -> None:
    formatter = QuietLogFormatter(level)
    assert formatter.crawled(REQUEST, RESPONSE, SPIDER) is None
    assert formatter.scraped({}, RESPONSE, SPIDER) is None


def test_at_debug_scrapys_messages_are_there() -> None:
    formatter = QuietLogFormatter(logging.DEBUG)
    assert formatter.crawled(REQUEST, RESPONSE, SPIDER)["level"] == logging.DEBUG
    assert formatter.scraped({}, RESPONSE, SPIDER)["level"] == logging.DEBUG


def of_scrapy(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith("scrapy")]


def log_failure(formatter: QuietLogFormatter) -> None:
    """What Scrapy's scraper does with a failed download."""
    try:
        raise CannotResolveHostError("no such\nname")
    except CannotResolveHostError as error:
        failure = Failure(error)  # type: ignore[no-untyped-call]
        message = formatter.download_error(failure, REQUEST, SPIDER)
        logging.getLogger("scrapy.core.scraper").log(*logformatter_adapter(message), exc_info=error)


def test_a_failed_download_is_one_line_without_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_failure(QuietLogFormatter(logging.INFO))
    (record,) = of_scrapy(caplog)
    assert record.levelno == logging.INFO
    assert record.exc_info is None
    assert record.getMessage() == "Not fetched: <GET http://a.test/> (CannotResolveHostError: no such name)"


def test_where_anticipated_errors_are_kept_they_are_kept_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    noted: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            noted.append(record.getMessage())

    keeper = Keeper()
    fetch_errors.keep(keeper)
    try:
        log_failure(QuietLogFormatter(logging.INFO))
    finally:
        fetch_errors.leave(keeper)
    assert noted == ["dns http://a.test/ (CannotResolveHostError: no such name)"]
    (record,) = of_scrapy(caplog)
    assert record.levelno == logging.DEBUG


def test_the_filter_is_added_once() -> None:
    for _ in range(3):
        QuietLogFormatter(logging.INFO)
        hush_inventory(logging.INFO)
    assert len(logging.getLogger("scrapy.core.scraper").filters) == 1
    assert len(logging.getLogger("scrapy.crawler").filters) == 1


def test_the_inventory_is_hushed_and_what_happens_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hush_inventory(logging.INFO)
    logger = logging.getLogger("scrapy.crawler")
    logger.info("Overridden settings:\n%(settings)s", {"settings": "{}"})
    logger.info("Received %(signame)s, shutting down gracefully", {"signame": "SIGINT"})
    logger.warning("Enabled by mistake")
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


def test_at_debug_the_inventory_is_there(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hush_inventory(logging.DEBUG)
    logging.getLogger("scrapy.middleware").info("Enabled extensions:\n[]")
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ({"LOG_LEVEL": "INFO"}, logging.INFO),
        ({"LOG_LEVEL": 30}, 30),
        ({"LOG_LEVEL": "30"}, 30),
        ({"LOG_ENABLED": False}, logging.CRITICAL + 1),
        ({"LOG_ENABLED": False, "LOG_FILE": "x", "LOG_LEVEL": "DEBUG"}, logging.DEBUG),
    ],
)
def test_the_level_is_read_from_the_settings(given: dict[str, Any], level: int) -> None:
    assert log_level(Settings(given)) == level


def test_the_level_changes_while_a_crawl_runs() -> None:
    formatter, follower = QuietLogFormatter(logging.INFO), logging.NullHandler()
    follow_level(follower)
    try:
        set_level("DEBUG")
        assert (follower.level, formatter.level) == (logging.DEBUG, logging.DEBUG)
        set_level(logging.ERROR)
        assert (follower.level, formatter.level) == (logging.ERROR, logging.ERROR)
        with pytest.raises(ValueError, match="no level of messages: 'LOUD'"):
            set_level("LOUD")
        assert follower.level == logging.ERROR
    finally:
        unfollow_level(follower)
    set_level("INFO")
    assert follower.level == logging.ERROR
