"""What an order may ask for, with the sentences of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scrapy.settings import Settings, default_settings

from tests.rows import each_row
from webcrawl.config import SETTINGS
from webcrawl.config.display import PACKAGES
from webcrawl.web.service.open_settings import GROUPS, OPEN, order_settings
from webcrawl.web.service.orders import order_problems

SEEDS = "https://www.scrapy.org/"
CONTACT = {"CRAWLER_CONTACT": "me@a.test"}


@pytest.fixture
def problems(tmp_path):
    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    settings.set("JOBDIR", str(tmp_path / "first"), "cmdline")

    def found(given=CONTACT, spider="broad", allowed=OPEN, **arguments):
        arguments = {"seeds": SEEDS, **arguments}
        return [str(problem) for problem in order_problems(settings, spider, arguments, given, allowed)]

    return found


def test_a_right_order_has_no_problem(problems):
    settings = {**CONTACT, "CLOSESPIDER_PAGECOUNT": "5", "LOG_LEVEL": "DEBUG", "POLITENESS_MIN_DELAY": "2"}
    assert problems(settings, stay="host", allow="/a/", focus="radio telescope") == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"CLOSESPIDER_PAGECOUNT": "x"}, "CLOSESPIDER_PAGECOUNT: must be a whole number from 0"),
        (
            {"CLOSESPIDER_PAGECONT": "5"},
            "CLOSESPIDER_PAGECONT: is not among the settings that an order may have: scrapy serve -s gives it to all "
            "crawls, SERVICE_ORDER_SETTINGS opens it; did you mean CLOSESPIDER_PAGECOUNT",
        ),
        ({"": "5"}, "'': is no name of a setting"),
        ({"+PLAYWRIGHT_X": "5"}, "'+PLAYWRIGHT_X': is no name of a setting"),
        ({"NOT_CHECKED": "5"}, "NOT_CHECKED: is not among the settings"),
        ({"FETCH_PRIVATE_ADDRESSES": "1"}, "FETCH_PRIVATE_ADDRESSES: is not among the settings"),
        ({"SEEDS_PRIVATE_ADDRESSES": "1"}, "SEEDS_PRIVATE_ADDRESSES: is for the service to set"),
        ({"JOBDIR": "/x"}, "JOBDIR: is for the service to set, not for a single crawl"),
        ({"DASHBOARD_PORT": "1"}, "DASHBOARD_PORT: is for the service to set"),
    ],
)
def test_a_wrong_setting_is_one_problem(problems, given, sentence):
    [problem] = problems({**CONTACT, **given})
    assert problem.startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"stay": "planet"}, "-a stay: must be"),
        ({"nosuch": "1"}, "-a nosuch: is no argument of the spider broad"),
        ({"a b": "1"}, "-a 'a b': is no name of an argument"),
        ({"segment": "/etc/passwd"}, "-a segment: is a file"),
        ({"domains": "/etc/passwd"}, "-a domains: must be names of sites"),
        ({"focus": "pages:/etc/passwd"}, "-a focus: must be keywords, re: or mime:"),
        ({"focus": "os:system"}, "-a focus: must be keywords, re: or mime:"),
        ({"allow": "x" * 5000}, "-a allow: must be a text of at most"),
    ],
)
def test_a_wrong_argument_is_one_problem(problems, arguments, sentence):
    [problem] = problems(**arguments)
    assert problem.startswith(sentence)


def test_an_unknown_spider_and_a_missing_contact_are_problems(problems):
    assert problems(spider="brod") == ["brod: is no spider; did you mean broad?"]
    assert any("CRAWLER_CONTACT" in problem for problem in problems({}))


def test_private_addresses_are_for_services_that_allow_them(problems):
    settings = {**CONTACT, "FETCH_PRIVATE_ADDRESSES": "10.0.0.0/8"}
    assert problems(settings, allowed=order_settings(private=True)) == []


def test_the_operator_of_the_service_may_open_further_settings(problems):
    settings = {**CONTACT, "SPIDERMON_ENABLED": "True"}
    [refused] = problems(settings)
    assert refused.startswith("SPIDERMON_ENABLED: is not among the settings that an order may have")
    assert problems(settings, allowed=order_settings(["SPIDERMON_ENABLED"])) == []


OF_PACKAGES = (
    "DELTAFETCH_DIR",
    "FAKE_USERAGENT_PROVIDERS",
    "PLAYWRIGHT_CDP_URL",
    "PLAYWRIGHT_CONTEXTS",
    "PLAYWRIGHT_LAUNCH_OPTIONS",
    "PLAYWRIGHT_PROCESS_REQUEST_HEADERS",
    "ROTATING_PROXY_LIST_PATH",
    "SCRAPEOPS_API_KEY",
    "SCRAPY_POET_DISCOVER",
    "SENTRY_DSN",
    "SPIDERMON_PERIODIC_MONITORS",
    "SPIDERMON_SPIDER_CLOSE_MONITORS",
    "ZYTE_API_KEY",
    *(f"{prefix}ANYTHING" for prefix in PACKAGES),
)


def test_of_all_settings_an_order_may_have_those_of_the_list_alone(problems):
    names = {setting.name for setting in SETTINGS} | {
        name for name in dir(default_settings) if name.isupper()
    }
    names |= {*OF_PACKAGES, "REDIS_PARAMS", "EDITOR_OF_MINE"}
    closed = sorted(names - OPEN)
    assert len(closed) > 150
    assert names >= OPEN

    told = {
        problem.partition(": ")[0] for problem in problems({**CONTACT, **dict.fromkeys(closed, "/bin/sh")})
    }
    assert told >= {*closed}


NAMES_SOMETHING = re.compile(
    r"FILE|FOLDER|DIR(?!ECT)|URL(?!LENGTH)|COMMAND|HOOK|MODULE|CLASS|PATH(?!_)|ENGINE|SINK|HOST(?!_DELAY|S_PAGES)|LISTEN"
    r"|CALLBACK|TOKEN|PASS|_KEY$|MAIL|WEBHOOK|PIPELINE|MIDDLEWARE|EXTENSION(?!S_)|HANDLER|FACTORY|STORE|FORMATTER"
)
TOLD_OTHERWISE = {"POLITENESS_KEY", "SITEMAP_URLS_MAX"}
"""Names alike of settings that are a word of a list and a number."""
READS = (
    "an import path",
    "readable file",
    "folder",
    "command",
    "module",
    "a URL",
    "an address such",
    "path of",
)


def test_no_setting_of_the_list_names_code_files_or_servers():
    assert {name for name in OPEN - TOLD_OTHERWISE if NAMES_SOMETHING.search(name)} == set()
    ours = {setting.name: setting.reader.allowed for setting in SETTINGS}
    assert {
        name: allowed
        for name, allowed in ours.items()
        if name in OPEN and any(word in allowed for word in READS)
    } == {}


def test_each_setting_of_the_list_is_checked_as_on_the_command_line(problems):
    """With a text that is no number, no switch and no list of words."""
    checked = OPEN - {"USER_AGENT", "CRAWLER_CONTACT"}
    names = {
        problem.partition(": ")[0]
        for problem in problems({**CONTACT, **dict.fromkeys(checked, "/bin/sh\n{")})
    }
    assert checked - names == set()


@each_row(
    "name",
    [
        "JOBDIR",
        "DASHBOARD_HOST",
        "METRICS_PORT",
        "SERVICE_PRIVATE_SEEDS",
        "SETTINGS_PREFIXES",
        "+MINE",
        "lower",
    ],
)
def test_the_service_opens_none_of_its_own_settings(name):
    reader = next(setting.reader for setting in SETTINGS if setting.name == "SERVICE_ORDER_SETTINGS")
    assert reader.problem([name]) is not None


def test_the_documentation_has_the_list():
    text = (Path(__file__).parents[4] / "docs/reference/http-api.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| (`[A-Z0-9_`, ]+) \|$", text, re.MULTILINE)
    assert {subject: tuple(names.replace("`", "").split(", ")) for subject, names in rows} == GROUPS
