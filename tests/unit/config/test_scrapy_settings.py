"""The table of Scrapy's settings: it is complete, warns of what has no effect, and translates what it says."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import scrapy
from scrapy.extensions.logstats import LogStats
from scrapy.settings import Settings, default_settings

from tests.rows import each_row
from webcrawl.config import SETTINGS, Configuration, check
from webcrawl.config.scrapy_settings import ATTRIBUTES, NOT_TOLD, ROWS, ScrapySetting, find_row
from webcrawl.crawl import given_settings
from webcrawl.crawl.given_settings import raised_delays, tell_of_settings, without_effect
from webcrawl.crawl.rules import build_politeness
from webcrawl.politeness.host_record import HostRecord
from webcrawl.urls.politeness_key import PolitenessKey

NO_DEFAULT = {"CONCURRENT_REQUESTS_PER_IP"}
"""Deprecated: Scrapy reads it, and has no default."""
THEIRS = {
    "DNS_RESOLVER": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
    "HTTP2_MAX_FRAME_SIZE": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
}


class Plain(scrapy.Spider):
    name = "plain"


def made(priority: str = "cmdline", **given: Any) -> Settings:
    settings = Settings()
    settings.setmodule("webcrawl.settings", priority="addon" if priority == "addon" else "project")
    for name, value in given.items():
        settings.set(name, value, priority=priority)
    return settings


def sentences(settings: Settings) -> list[str]:
    return list(without_effect(settings, Plain()))


WITHOUT = [pytest.param(name, row, id=name) for row in ROWS if row.effect == "none" for name in row.names]


def another(name: str) -> Any:
    """A value that differs from the default, of its type."""
    default = vars(default_settings).get(name, 0)
    if isinstance(default, bool):
        return not (find_row(name).same or (default,))[0]
    if isinstance(default, int | float):
        return default + 7
    return {"a": 1} if isinstance(default, dict) else ["x"] if isinstance(default, list) else "other"


def test_every_setting_of_scrapy_has_one_row() -> None:
    """A new Scrapy with a new setting fails here: look up what it configures, and say what holds."""
    names = [name for row in ROWS for name in row.names]
    theirs = {name for name in dir(default_settings) if name.isupper()}
    assert sorted(names) == sorted({*theirs, *NO_DEFAULT})


def test_the_settings_that_the_crawler_declares_itself_are_its_own() -> None:
    ours = {setting.name for setting in SETTINGS}
    assert [name for row in ROWS for name in row.names if (name in ours) != (row.effect == "own")] == []


def test_what_the_project_sets_itself_is_not_given() -> None:
    assert check(made()) == []
    assert sentences(made()) == []
    assert list(raised_delays(made())) == []


@each_row(("name", "row"), WITHOUT)
def test_a_setting_without_effect_is_told_with_what_holds(name: str, row: ScrapySetting) -> None:
    (sentence,) = sentences(made("spider", **{name: another(name)}))
    assert sentence.startswith(f"{name}=")
    assert f" has no effect: {row.here}" in sentence
    assert sentence.endswith(row.instead or row.here)


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_it_counts_wherever_it_was_given(priority: str) -> None:
    settings = made(priority, ROBOTSTXT_OBEY=False, SCHEDULER_DEBUG=True, TELNETCONSOLE_PORT=[1, 2])
    assert [sentence.partition("=")[0] for sentence in sentences(settings)] == [
        "ROBOTSTXT_OBEY",
        "SCHEDULER_DEBUG",
        "TELNETCONSOLE_PORT",
    ]
    assert sentences(made("command", ROBOTSTXT_OBEY=False)) == [], "the default of a command is nobody's wish"
    assert sentences(made("addon", ROBOTSTXT_OBEY=False)) == [], "nor is what another package sets"


@each_row(("name", "row"), WITHOUT)
def test_a_value_that_asks_for_what_holds_is_not_told(name: str, row: ScrapySetting) -> None:
    for value in row.same or (vars(default_settings).get(name),):
        assert sentences(made(**{name: value})) == []
        if not isinstance(value, list | dict):
            assert sentences(made(**{name: str(value)})) == []


@each_row(
    ("name", "enabled"),
    [
        ("LOGSTATS_INTERVAL", {"EXTENSIONS": {LogStats: 5}}),
        ("TELNETCONSOLE_PORT", {"EXTENSIONS": {"scrapy.extensions.telnet.TelnetConsole": 5}}),
        ("REMOTE_CONTROL_ENABLED", {"EXTENSIONS": {"scrapy.extensions.remote_control.RemoteControl": 5}}),
        (
            "METAREFRESH_MAXDELAY",
            {"DOWNLOADER_MIDDLEWARES": {"scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": 580}},
        ),
        *((name, {"DOWNLOAD_HANDLERS": {"https": path}}) for name, path in THEIRS.items()),
    ],
)
def test_a_setting_whose_component_is_enabled_has_an_effect(name: str, enabled: dict[str, Any]) -> None:
    assert len(sentences(made(**{name: another(name)}))) == 1
    assert sentences(made(**{name: another(name)}, **enabled)) == []


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_a_larger_download_delay_raises_the_minimum(priority: str) -> None:
    settings = made(priority, DOWNLOAD_DELAY="90")
    read = Configuration.from_settings(settings)
    assert (read.politeness_min_delay, read.politeness_max_delay) == (90, 90)
    assert sentences(settings) == []
    assert list(raised_delays(settings)) == ["DOWNLOAD_DELAY=90: POLITENESS_MIN_DELAY is 90 s"]


@pytest.mark.parametrize("given", [float("5"), 5, "5"])
def test_a_download_delay_that_a_project_writes_counts_even_if_it_is_that_of_our_module(
    given: object,
) -> None:
    settings = made("spider", POLITENESS_MIN_DELAY=1)
    settings.set(
        "DOWNLOAD_DELAY", float(str(given)) if isinstance(given, float) else given, priority="project"
    )
    assert Configuration.from_settings(settings).politeness_min_delay == 5
    ours = Configuration.from_settings(made("spider", POLITENESS_MIN_DELAY=1))
    assert ours.politeness_min_delay == 1


def test_a_smaller_download_delay_never_lowers_the_minimum() -> None:
    settings = made(DOWNLOAD_DELAY="0.5")
    assert check(settings, ["DOWNLOAD_DELAY"]) == []
    assert Configuration.from_settings(settings).politeness_min_delay == 5
    assert sentences(settings) == [
        "DOWNLOAD_DELAY=0.5 has no effect: it never lowers POLITENESS_MIN_DELAY, which is 5; for a site of your own "
        "set POLITENESS_MIN_DELAY=0.5"
    ]


def test_the_delays_of_slots_raise_the_minima_of_their_sites() -> None:
    slots = {
        "www.one.example": {"delay": 20, "concurrency": 8, "randomize_delay": False},
        "one.example": {"delay": "30", "jitter": 0.5},
        "two.example": {"delay": 0.1, "concurrency": 1},
        "a slot": {"concurrency": 1},
    }
    settings = made(DOWNLOAD_SLOTS=slots)
    assert check(settings, ["DOWNLOAD_SLOTS"]) == []
    read = Configuration.from_settings(settings)
    assert read.first_delay == 30
    delays = build_politeness(read, PolitenessKey("domain"))
    keys = ["one.example", "two.example", "three.example"]
    assert [delays.delay(HostRecord(key)) for key in keys] == [30, 5, 5]
    assert [sentence.partition(" has no effect")[0] for sentence in sentences(settings)] == [
        "DOWNLOAD_SLOTS: delay of two.example",
        "DOWNLOAD_SLOTS: concurrency of www.one.example",
        "DOWNLOAD_SLOTS: jitter of one.example",
        "DOWNLOAD_SLOTS: options of a slot",
    ]
    assert list(raised_delays(settings)) == [
        "DOWNLOAD_SLOTS: minimum delays of the sites of www.one.example 20 s, one.example 30 s"
    ]


def test_autothrottle_raises_two_delays_if_it_is_enabled() -> None:
    delays = {"AUTOTHROTTLE_START_DELAY": 8, "AUTOTHROTTLE_MAX_DELAY": 300}
    off = Configuration.from_settings(made(**delays))
    assert (off.politeness_unknown_delay, off.politeness_max_delay) == (0, 60)
    on = Configuration.from_settings(made(**delays, AUTOTHROTTLE_ENABLED=True))
    assert (on.politeness_unknown_delay, on.politeness_max_delay) == (8, 300)


def test_no_retries_are_none() -> None:
    assert Configuration.from_settings(made(RETRY_ENABLED="0")).retry_times == 0
    assert Configuration.from_settings(made(RETRY_ENABLED="1", RETRY_TIMES=4)).retry_times == 4


@each_row(
    ("name", "value"),
    [
        ("DOWNLOAD_DELAY", "-1"),
        ("DOWNLOAD_DELAY", "soon"),
        ("AUTOTHROTTLE_MAX_DELAY", "1e9"),
        ("DOWNLOAD_SLOTS", '{"shop.example": 10}'),
        ("DOWNLOAD_SLOTS", '{"shop.example": {"delay": "soon"}}'),
        ("RETRY_ENABLED", "perhaps"),
        ("REDIRECT_ENABLED", "perhaps"),
        ("RETRY_HTTP_CODES", "500,many"),
        ("RETRY_EXCEPTIONS", "no.such.Error"),
        ("RETRY_EXCEPTIONS", "scrapy.Spider"),
        ("TWISTED_REACTOR", "twisted.internet.selectreactor.SelectReactor"),
        ("TWISTED_REACTOR_ENABLED", "0"),
    ],
)
def test_a_value_that_cannot_be_applied_is_refused(name: str, value: str) -> None:
    (problem,) = check(made(**{name: value}), [name])
    assert problem.name == name
    assert "must be" in problem.message
    assert "object at" not in problem.message


@pytest.mark.parametrize(
    "attribute",
    [name for row in ATTRIBUTES if row.effect == "none" for name in row.names if name not in NOT_TOLD],
)
def test_an_attribute_without_effect_is_told(attribute: str) -> None:
    spider = type("Old", (Plain,), {attribute: 3})()
    (sentence,) = without_effect(made(), spider)
    assert sentence.startswith(f"The spider's attribute {attribute} has no effect: ")


def test_an_attribute_with_one_is_not() -> None:
    attributes = {name: ["x"] for row in ATTRIBUTES if row.effect != "none" for name in row.names}
    spider = type("Usual", (Plain,), attributes)
    assert list(without_effect(made(), spider)) == []


def test_the_sentences_are_warnings_and_the_raised_delays_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever other tests of this process have logged, and have done to loggers.
    said: list[tuple[str, str]] = []
    monkeypatch.setattr(given_settings, "_logged", set())
    monkeypatch.setattr(
        given_settings.logger,
        "log",
        lambda level, form, line: said.append((logging.getLevelName(level), form % line)),
    )
    given = made(ROBOTSTXT_OBEY="0", DOWNLOAD_DELAY=7)
    tell_of_settings(given, Plain())
    assert said == [
        ("WARNING", "ROBOTSTXT_OBEY=0 has no effect: the crawl always obeys robots.txt"),
        ("INFO", "DOWNLOAD_DELAY=7: POLITENESS_MIN_DELAY is 7 s"),
    ]
    tell_of_settings(given, Plain())
    assert len(said) == 2, "a second crawl of the process repeats nothing"


def test_a_maximum_that_is_overruled_is_told_to_the_one_who_wrote_it_and_to_nobody_who_knows() -> None:
    throttled = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_MAX_DELAY": 30.0}
    (sentence,) = sentences(made("project", **throttled))

    assert sentence.startswith(
        "AUTOTHROTTLE_MAX_DELAY=30.0 has no effect: it never lowers POLITENESS_MAX_DELAY"
    )
    assert sentences(made("addon", **throttled)) == []
    assert sentences(made("project", **throttled, POLITENESS_MAX_DELAY=60)) == []
