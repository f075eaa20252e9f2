"""Settings take what is right, turn down what is wrong and say so; cases in tests/data/settings.json."""

from __future__ import annotations

import ast
import json
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from tests.rows import each_row
from webcrawl import settings as project
from webcrawl.config import SETTINGS, Configuration, Setting, check, defaults, features
from webcrawl.errors import ConfigurationError, CrawlError
from webcrawl.features.revisits import freshness
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.politeness.hours import Hours
from webcrawl.processing.modules import TagCounter
from webcrawl.search import engine

ROOT = Path(__file__).parents[3]
CASES = json.loads((ROOT / "tests/data/settings.json").read_text(encoding="utf-8"))
GOOD = [(name, given, read) for name, case in CASES.items() for given, read in case["good"]]
BAD = [(name, given) for name, case in CASES.items() for given in case["bad"]]


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in the cases are relative to the project."""
    monkeypatch.chdir(ROOT)


def problems(values: dict[str, Any], **more: Any) -> list[str]:
    return [str(problem) for problem in check(Settings(values), **more)]


def as_case(value: Any) -> Any:
    """A typed value as the cases write it."""
    if isinstance(value, tuple):
        return [as_case(item) for item in value]
    return (
        f"{type(value).__name__.removeprefix('Posix')}:{value}" if isinstance(value, Hours | Path) else value
    )


SIMPLE = {"choice", "real", "switch", "whole"}
"""Readers that settings have in common; a new setting that has one of them needs no cases of its own."""


def is_simple(setting: Setting) -> bool:
    return setting.reader.read.__qualname__.partition(".")[0] in SIMPLE


def test_every_setting_that_is_read_in_its_own_way_has_cases() -> None:
    names = {setting.name for setting in SETTINGS}
    assert sorted(CASES.keys() - names) == []
    assert sorted({setting.name for setting in SETTINGS if not is_simple(setting)} - CASES.keys()) == []


@each_row("setting", list(filter(is_simple, SETTINGS)), ids=lambda setting: setting.name)
def test_a_word_that_means_nothing_is_wrong_for_a_number_a_switch_and_a_choice(setting: Setting) -> None:
    assert problems({setting.name: "xyzzy"}) == [
        f"{setting.name}: must be {setting.reader.allowed}, not 'xyzzy'"
    ]


@each_row(("name", "given", "read"), GOOD)
def test_a_right_value_is_read_as_its_type(name: str, given: Any, read: Any) -> None:
    configuration = Configuration.from_settings(Settings({name: given}))
    assert as_case(getattr(configuration, name.lower())) == read
    assert type(as_case(getattr(configuration, name.lower()))) is type(read)


@each_row(("name", "given"), BAD)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, given: Any) -> None:
    (problem,) = problems({name: given})
    assert problem.startswith(f"{name}: ")
    assert "must be" in problem
    assert repr(given) in problem
    assert "\n" not in problem


def test_the_defaults_are_right() -> None:
    assert problems({}) == []
    given = Configuration.from_settings(Settings())
    assert given.user_agent.startswith("webcrawl/")
    assert given.worker_name == Configuration().worker_name
    assert given.download_timeout == 60, "Scrapy's own default must not get in the way"


def test_the_settings_module_has_the_defaults_of_the_table() -> None:
    assert {setting.name: getattr(project, setting.name) for setting in SETTINGS} == defaults()


def test_the_settings_module_says_no_setting_of_the_table_again() -> None:
    tree = ast.parse(Path(project.__file__).read_text(encoding="utf-8"))
    said = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert sorted(said & defaults().keys()) == []


def test_a_settings_module_that_changes_a_list_changes_no_default() -> None:
    before = defaults()
    defaults()["EXTENSIONS_REFUSED"].clear()
    assert defaults() == before


def test_a_foreign_project_has_the_defaults_and_those_of_scrapys_settings_that_the_crawl_needs() -> None:
    mine: dict[str, Any] = {}
    exec("from webcrawl.settings import *\nPOLITENESS_MIN_DELAY = 7", mine)
    assert (mine["POLITENESS_MIN_DELAY"], mine["POLITENESS_MAX_DELAY"]) == (7, 60.0)
    assert mine["SCHEDULER"] == "webcrawl.scheduler.Scheduler"


def test_all_wrong_settings_are_found_at_once() -> None:
    wrong = {"POLITENESS_MIN_DELAY": "x", "FRONTIER_SEEN": "y", "WARC_ENABLED": "z"}
    assert len(problems(wrong)) == 3
    with pytest.raises(ConfigurationError) as caught:
        Configuration.from_settings(Settings(wrong))
    assert {problem.name for problem in caught.value.problems} == set(wrong)


@each_row(
    ("given", "backend"),
    [
        ({"REDIS_URL": "redis://10.0.0.5/0"}, "redis"),
        ({"REDIS_URL": "redis://10.0.0.5/0", "FRONTIER_BACKEND": "sqlite"}, "sqlite"),
        ({"REDIS_URL": ""}, "sqlite"),
        ({"FRONTIER_BACKEND": "redis"}, "redis"),
    ],
)
def test_who_names_a_redis_and_no_backend_means_that_one(given: dict[str, object], backend: str) -> None:
    assert Configuration.from_settings(Settings(given)).frontier_backend == backend


def test_redis_has_both_seen_tests() -> None:
    for seen in ("exact", "bloom"):
        assert not problems({"REDIS_URL": "redis://10.0.0.5/0", "FRONTIER_SEEN": seen})


def test_a_redis_gets_no_budget_that_its_messages_alone_would_use_up() -> None:
    (problem,) = problems({"REDIS_BUDGET_BYTES": "16"})
    assert problem == "REDIS_BUDGET_BYTES: must be 0 or at least 16777216, not 16"
    assert problems({"REDIS_BUDGET_BYTES": 16 << 20}) == []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"POLITENESS_MIN_DELAY": "61"}, "POLITENESS_MIN_DELAY: must be at most POLITENESS_MAX_DELAY"),
        ({"HEALTH_PARK_SECONDS": 90_000}, "HEALTH_PARK_SECONDS: must be at most HEALTH_PARK_MAX_SECONDS"),
        (
            {"DOWNLOAD_MAXSIZE": 1 << 30},
            "DOWNLOAD_MAXSIZE: must be at most DOWNLOAD_ANNOUNCED_MAXSIZE, which is 33554432, not 1073741824",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_found(given: dict[str, Any], named: str) -> None:
    (problem,) = problems(given)
    assert problem.startswith(named)


def test_an_index_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    monkeypatch.delitem(sys.modules, "webcrawl.search.tantivy", raising=False)
    text = "webcrawl.processing.main_text.MainText"
    sinks = {"ARCHIVE_SINKS": "webcrawl.search.store.SearchIndex", "PROCESSING_MODULES": text}

    (problem,) = check(Settings(sinks))
    assert str(problem).startswith("ARCHIVE_SINKS: the search index needs tantivy")
    assert "pip install tantivy" in str(problem)
    with pytest.raises(CrawlError, match="pip install tantivy"):
        engine.load("webcrawl.search.tantivy.Tantivy")
    assert check(Settings()) == []


@pytest.mark.parametrize(
    ("packages", "why"),
    [
        (("json",), None),
        (("nowhere.at_all", "no_where"), "needs nowhere.at-all and no-where, which are not installed: pip"),
        ("json", "is no list of the names of packages"),
    ],
)
def test_a_module_of_others_names_the_packages_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, packages: object, why: str | None
) -> None:
    monkeypatch.setattr(TagCounter, "packages", packages, raising=False)
    found = problems({"PROCESSING_MODULES": f"{TagCounter.__module__}.{TagCounter.__qualname__}"})
    assert [why in problem for problem in found] == ([] if why is None else [True])


def test_no_limit_contradicts_nothing() -> None:
    assert problems({"DOWNLOAD_MAXSIZE": 1 << 30, "DOWNLOAD_ANNOUNCED_MAXSIZE": 0}) == []


@each_row(
    ("name", "meant"),
    [
        ("POLITENESS_MINDELAY", "POLITENESS_MIN_DELAY"),
        ("HEALTH_FAILURES_TO_PRAK", "HEALTH_FAILURES_TO_PARK"),
        ("jobdir", "JOBDIR"),
        ("CONCURENT_REQUESTS", "CONCURRENT_REQUESTS"),
        ("REDIS_URI", "REDIS_URL"),
        ("OWN_SETING", "OWN_SETTING"),
    ],
)
def test_an_unknown_name_is_told_with_the_one_that_was_meant(name: str, meant: str) -> None:
    assert problems({name: "1"}, given=[name], known=["OWN_SETTING"]) == [
        f"{name}: is not a setting; did you mean {meant}?"
    ]


def test_an_unknown_name_like_no_other_is_told_without_a_guess() -> None:
    assert problems({"XYZZY": "1"}, given=["XYZZY"]) == [
        "XYZZY: is not a setting; for one of a package or of your own, write -s +XYZZY=..., or name its prefix in "
        "SETTINGS_PREFIXES"
    ]


def test_an_unknown_name_that_continues_a_setting_is_told_with_it() -> None:
    (problem,) = problems({"HEALTH_FAILURES_TO_PARKED": "1"}, given=["HEALTH_FAILURES_TO_PARKED"])
    assert problem.startswith(
        "HEALTH_FAILURES_TO_PARKED: is not a setting; did you mean HEALTH_FAILURES_TO_PARK? For one of a package"
    )


def test_the_names_of_packages_and_of_declared_prefixes_are_known() -> None:
    given = ["SPIDERMON_ENABLED", "MYPIPE_DB"]
    assert problems({"SETTINGS_PREFIXES": "SPIDERMON_,MYPIPE_"}, given=given) == []
    (problem,) = problems({}, given=given)
    assert problem.startswith("MYPIPE_DB: is not a setting")


@pytest.mark.parametrize("priority", ["addon", "project", "spider"])
def test_a_misspelt_name_in_a_spider_or_a_settings_module_is_found(priority: str) -> None:
    settings = Settings()
    for name in ("POLITENES_MIN_DELAY", "CONCURENT_REQEUSTS", "depth_limit", "RERTY_TIMES"):
        settings.set(name, 1, priority=priority)
    assert [str(problem) for problem in check(settings)] == [
        "CONCURENT_REQEUSTS: is not a setting; did you mean CONCURRENT_REQUESTS?",
        "POLITENES_MIN_DELAY: is not a setting; did you mean POLITENESS_MIN_DELAY?",
        "RERTY_TIMES: is not a setting; did you mean RETRY_TIMES?",
        "depth_limit: is not a setting; did you mean DEPTH_LIMIT?",
    ]


@each_row(
    "name",
    ["USER_AGENTS", "SMTP_PASSWORD", "HTTP_USER", "MAIL_TO", "MY_DELAY", "REDIS_KEY", "LOG_DIR", "DEBUG"],
)
def test_names_of_a_projects_own_are_no_misspellings(name: str) -> None:
    assert problems({name: 1}) == []


@each_row(
    "name",
    ["POLITENESS_KEY", "DEPTH_LIMIT", "FEEDS", "REDIS_URL", "FILES_EXPIRES", "SCHEDULER_PERSIST", "MINE"],
)
def test_names_of_ours_of_scrapy_of_scrapy_redis_and_of_the_project_are_known(name: str) -> None:
    assert not any("is not a setting" in problem for problem in problems({}, given=[name], known=["MINE"]))


@each_row(
    ("name", "value", "allowed"),
    [
        ("CONCURRENT_ITEMS", "x", "a whole number"),
        ("LOGSTATS_INTERVAL", "often", "a number"),
        ("DNS_TIMEOUT", "soon", "a number"),
        ("COOKIES_ENABLED", "maybe", "True or False"),
        ("LOG_LEVEL", "INFOO", "CRITICAL, ERROR, WARNING, INFO or DEBUG"),
        ("ADDONS", 5, "a JSON object"),
    ],
)
def test_scrapys_own_settings_are_checked_by_type(name: str, value: Any, allowed: str) -> None:
    settings = Settings()
    settings.attributes[name].value = value
    (problem,) = check(settings, [name])
    assert str(problem) == f"{name}: must be {allowed}, not {value!r}"


def test_the_settings_of_a_prefix_become_the_fields_of_a_dataclass() -> None:
    given = {
        "POLITENESS_MODEL": "last",
        "POLITENESS_MIN_DELAY": 1,
        "POLITENESS_MAX_DELAY": 2,
        "POLITENESS_FACTOR": 3,
        "POLITENESS_CRAWL_DELAY_MAX": 4,
        "POLITENESS_UNKNOWN_DELAY": 5,
        "POLITENESS_RATE_LIMIT_MAX": 6,
    }
    assert Configuration.from_settings(Settings(given)).build(Politeness, "politeness_") == Politeness(
        "last", min_delay=1, max_delay=2, factor=3, crawl_delay_max=4, unknown_delay=5, rate_limit_max=6
    )
    read = Configuration.from_settings(Settings({"HEALTH_PARK_SECONDS": 7}))
    assert read.build(Health, "health_") == Health(park_seconds=7)


def test_networks_are_read_as_networks() -> None:
    read = Configuration.from_settings(Settings({"FETCH_PRIVATE_ADDRESSES": "10.0.0.0/8,::1"}))
    assert read.fetch_private_addresses == (ip_network("10.0.0.0/8"), ip_network("::1/128"))


def test_the_contact_becomes_part_of_the_user_agent() -> None:
    read = Configuration.from_settings(Settings({"CRAWLER_CONTACT": "me@example.org"}))
    assert read.user_agent.endswith(" (+me@example.org)")
    assert read.product_tokens == ("webcrawl",)


def test_the_product_token_follows_the_user_agent() -> None:
    assert Configuration.from_settings(Settings({"USER_AGENT": "mybot/2.0"})).product_tokens == ("mybot",)


def test_the_policies_that_may_be_named_are_those_that_there_are() -> None:
    assert tuple(freshness.POLICIES) == features.POLICIES
