"""The table of settings that can be changed while a crawl runs, and the check of a change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from tests.rows import each_row
from webcrawl import settings as components
from webcrawl.config import Configuration, check
from webcrawl.features.steering.kept_settings import settings_of_crawl
from webcrawl.features.steering.live_settings import (
    LIVE,
    as_text,
    changed,
    find_problems,
    normal,
    values_at_start,
)
from webcrawl.features.steering.store import WorkerState

if TYPE_CHECKING:
    from pathlib import Path


def settings(**given: object) -> Settings:
    made = Settings()
    made.setmodule(components)
    for name, value in given.items():
        made.set(name, value, priority="cmdline")
    return made


def messages(
    changes: dict[str, str | None], overlay: dict[str, str] | None = None, **given: object
) -> list[str]:
    return [str(problem) for problem in find_problems(changes, settings(**given), overlay or {})]


def values(overlay: dict[str, str], spider: object = None, **given: object):
    made = settings(**given)
    start = values_at_start(made, Configuration.from_settings(made), spider or SimpleNamespace())
    return changed(start, made, overlay)


@each_row("name", LIVE)
def test_the_value_at_the_start_is_a_value_that_can_be_given(name: str) -> None:
    text = values({}).texts()[name]
    assert messages({name: text}) == []
    assert values({name: text}).texts() == values({}).texts()


@each_row(
    ("name", "value"),
    [
        ("CONCURRENT_REQUESTS", "many"),
        ("POLITENESS_MIN_DELAY", "-1"),
        ("POLITENESS_MIN_DELAY", "nan"),
        ("POLITENESS_MODEL", "random"),
        ("POLITENESS_MIN_DELAY", "61"),
        ("HEALTH_PARK_SECONDS", "90000"),
        ("PORTS_ALLOWED", "0"),
        ("DENY_FILE", "/there/is/none"),
    ],
)
def test_a_wrong_value_is_refused_with_the_sentence_of_the_start(name: str, value: str) -> None:
    at_start = [str(problem) for problem in check(settings(**{name: value}), [name])]
    assert messages({name: value}) == at_start != []


def test_values_are_checked_together_with_those_that_were_changed_before() -> None:
    least, most = "POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"
    assert messages({least: "100", most: "200"}) == []
    assert messages({least: "100"}, {most: "200"}) == []
    assert messages({most: None}, {least: "100", most: "200"}) == [
        f"{least}: must be at most {most}, which is 60, not 100"
    ]


def test_problems_of_other_settings_that_were_there_before_do_not_count() -> None:
    assert messages({"DEPTH_LIMIT": "3"}, CRAWLER_CONTACT="nobody") == []


@each_row(
    ("name", "sentence"),
    [
        ("POLITENESS_MIN_DELEY", "is not a setting; did you mean POLITENESS_MIN_DELAY?"),
        ("politeness_min_delay", "is not a setting; did you mean POLITENESS_MIN_DELAY?"),
        ("XYZ", "is not a setting; scrapy set lists those that can be changed"),
        (
            "WARC_PAGES",
            "cannot be changed while the crawl runs; stop the crawl and start it again with -s WARC_PAGES=",
        ),
        (
            "COOKIES_ENABLED",
            "cannot be changed while the crawl runs; stop the crawl and start it again with -s",
        ),
        ("POLITENESS_KEY", "cannot be changed: the crawl's queues have the keys with which it was begun"),
        ("EXCLUSION_FILE", "cannot be changed while the crawl runs; the file is read again when it changes"),
        ("X" * 2_000_000, "is not a setting"),
    ],
)
def test_a_name_that_cannot_be_changed_says_what_to_do(name: str, sentence: str) -> None:
    [message] = messages({name: "1"})
    assert sentence in message
    assert len(message) < 300


def test_two_megabytes_are_refused_in_a_short_sentence() -> None:
    assert messages({"DENY_FILE": "x" * 2_000_000}) == [
        "DENY_FILE: has 2,000,000 characters; at most 10,000 are allowed"
    ]


def test_arguments_of_the_spider_are_checked() -> None:
    assert (
        messages({"allow": "/news/", "stay": "host", "domains": "a.example", "allowed_domains": "a.test"})
        == []
    )
    assert messages({"allow": "("})[0].startswith("allow: must be a regular expression")
    assert messages({"stay": "planet"}) == ["stay: must be domain or host, not 'planet'"]


def test_a_file_of_wrong_expressions_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "deny.txt"
    path.write_text("(\n")
    [message] = messages({"DENY_FILE": str(path)})
    assert message.startswith(f"DENY_FILE: {path}: line 1")
    path.write_text("/private/\n")
    assert messages({"DENY_FILE": str(path)}) == []


def test_changed_values_are_typed_and_the_others_those_of_the_start() -> None:
    spider = SimpleNamespace(allow="/a/", stay=None, allowed_domains=["a.test"])
    found = values({"CONCURRENT_REQUESTS": "7", "stay": "host", "allow": ""}, spider, DEPTH_LIMIT=4)
    assert (found.configuration.concurrent_requests, found.configuration.depth_limit) == (7, 4)
    assert found.arguments == {"allow": None, "stay": "host", "allowed_domains": ["a.test"], "domains": None}


def test_the_minimum_that_scrapys_setting_raises_holds() -> None:
    found = values({"POLITENESS_MIN_DELAY": "1"}, DOWNLOAD_DELAY=3)
    assert found.configuration.politeness_min_delay == 3


def test_the_maximum_is_never_below_the_minimum() -> None:
    found = values({"POLITENESS_MAX_DELAY": "2", "POLITENESS_MIN_DELAY": "2"}, DOWNLOAD_DELAY=3)
    assert found.configuration.politeness_max_delay == 3


def test_values_as_text_make_the_same_settings() -> None:
    start = values({}, DEPTH_LIMIT=4, EXTENSIONS_REFUSED="zip,gz", LOG_LEVEL="ERROR")
    again = Configuration.from_settings(
        settings_of_crawl(settings(), [WorkerState("w", 1.0, start=start.texts())])
    )
    assert (again.depth_limit, again.extensions_refused) == (4, ("zip", "gz"))


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert normal("DENY_FILE", "deny.txt") == str(tmp_path / "deny.txt")
    assert normal("DENY_FILE", "") == ""
    assert normal("domains", "a.example") == "a.example"


@each_row(
    ("value", "text"),
    [(5.0, "5"), (0.25, "0.25"), (None, ""), ((80, 8080), "80,8080"), ({"b", "a"}, "a,b"), (3, "3")],
)
def test_values_as_text(value: object, text: str) -> None:
    assert as_text(value) == text
