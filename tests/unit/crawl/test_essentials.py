"""The parts without which a crawl does not start: what is named, and what may be replaced."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import Settings

from tests.rows import each_row
from webcrawl.crawl import drawing
from webcrawl.crawl.essentials import foreign_handlers, missing, require
from webcrawl.downloadermiddlewares.outcome import OutcomeMiddleware
from webcrawl.engine.downloader import DirectDownloader
from webcrawl.errors import ConfigurationError

EXCLUSIONS = "webcrawl.extensions.exclusions.Exclusions"
THEIRS = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"


class OwnOutcome(OutcomeMiddleware):
    """A part that does a little more than ours."""


class OwnDownloader(DirectDownloader):
    """Likewise."""


def settings(**given: Any) -> Settings:
    made = Settings()
    made.setmodule("webcrawl.settings")
    for name, value in given.items():
        made.set(name, value, priority="spider")
    return made


@each_row(
    "given",
    [
        {},
        {"DOWNLOADER_MIDDLEWARES": {}, "SPIDER_MIDDLEWARES": {}, "EXTENSIONS": {}, "DOWNLOAD_HANDLERS": {}},
        {"DOWNLOADER_MIDDLEWARES": {OutcomeMiddleware: None, OwnOutcome: 950}, "DOWNLOADER": OwnDownloader},
        {"DOWNLOADER_MIDDLEWARES": {"webcrawl.downloadermiddlewares.retry.RetryMiddleware": None}},
        {"DOWNLOAD_HANDLERS": {"http": THEIRS}},
        {"EXTENSIONS": {EXCLUSIONS: None}},
        {"SCHEDULER": "webcrawl.crawl.verdicts.PlainScheduler", "DOWNLOADER_MIDDLEWARES_BASE": {}},
    ],
)
def test_what_others_add_and_what_a_crawl_can_do_without_is_no_problem(given: dict[str, Any]) -> None:
    assert missing(settings(**given)) == []


@each_row(
    ("given", "name"),
    [
        ({"DOWNLOADER_MIDDLEWARES": {OutcomeMiddleware: None}}, "DOWNLOADER_MIDDLEWARES"),
        ({"DOWNLOADER_MIDDLEWARES": {OutcomeMiddleware: 650}}, "DOWNLOADER_MIDDLEWARES"),
        ({"EXTENSIONS": {EXCLUSIONS: None}, "EXCLUSION_FILE": "list.txt"}, "EXTENSIONS"),
        ({"EXTENSIONS": {"webcrawl.extensions.refusals.Refusals": None}}, "EXTENSIONS"),
        ({"EXTENSIONS_BASE": {}}, "EXTENSIONS"),
        ({"DOWNLOAD_HANDLERS": {"http": THEIRS}, "POLITENESS_ADDRESS_DELAY": 1}, "DOWNLOAD_HANDLERS"),
        ({"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, "SCHEDULER"),
    ],
)
def test_what_a_crawl_cannot_do_without_is_named(given: dict[str, Any], name: str) -> None:
    assert [problem.name for problem in missing(settings(**given))] == [name]
    with pytest.raises(ConfigurationError):
        require(settings(**given))


def test_a_crawl_with_no_part_of_ours_is_none_of_ours() -> None:
    assert missing(Settings()) == []
    require(Settings({"EXTENSIONS": {"webcrawl.extensions.progress.Progress": 1}}))


def test_handlers_of_others_are_told_by_scheme() -> None:
    assert list(foreign_handlers(settings())) == []
    assert list(foreign_handlers(settings(DOWNLOAD_HANDLERS={"https": THEIRS, "http": None}))) == [
        ("https", THEIRS)
    ]


@each_row(
    ("name", "value"),
    [
        ("PLAYWRIGHT_CDP_URL", "http://localhost:9222"),
        ("PLAYWRIGHT_BROWSER_TYPE", "firefox"),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", {"args": ["--proxy-server=direct://"]}),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", {"proxy": {"server": "http://localhost:3128"}}),
    ],
)
def test_a_browser_that_could_fetch_by_itself_is_refused(name, value):
    settings = Settings({"DOWNLOAD_HANDLERS": {"https": drawing.HANDLER}, name: value})

    assert name in {problem.name for problem in drawing.problems(settings)}


def test_the_handler_of_scrapy_playwright_is_replaced_at_its_own_priority():
    settings = Settings()
    settings.set("DOWNLOAD_HANDLERS", {"https": drawing.PACKAGE_HANDLER, "ftp": None}, priority="spider")
    drawing.replace_handler(settings)

    assert settings.getdict("DOWNLOAD_HANDLERS") == {"https": drawing.HANDLER, "ftp": None}
    assert settings.getpriority("DOWNLOAD_HANDLERS") == 30
    assert drawing.draws(settings)
