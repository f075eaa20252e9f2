"""What an order may ask for, with the sentences of the command line."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from tests import docs_tables
from webcrawl.config import SETTINGS
from webcrawl.features.service.orders import PLAIN, is_open, order_problems

SEEDS = "https://www.scrapy.org/"
CONTACT = {"CRAWLER_CONTACT": "me@a.test"}


@pytest.fixture
def problems(tmp_path):
    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    settings.set("JOBDIR", str(tmp_path / "first"), "cmdline")

    def found(given=CONTACT, spider="broad", private=False, **arguments):
        arguments = {"seeds": SEEDS, **arguments}
        return [str(one) for one in order_problems(settings, spider, arguments, given, private=private)]

    return found


def test_a_right_order_has_no_problem(problems):
    given = {**CONTACT, "CLOSESPIDER_PAGECOUNT": "5", "LOG_LEVEL": "DEBUG", "POLITENESS_MIN_DELAY": "2"}
    assert problems(given, stay="host", allow="/a/", focus="radio telescope") == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"CLOSESPIDER_PAGECOUNT": "x"}, "CLOSESPIDER_PAGECOUNT: must be a whole number from 0"),
        (
            {"CLOSESPIDER_PAGECONT": "5"},
            "CLOSESPIDER_PAGECONT: is not a setting; did you mean CLOSESPIDER_PAGECOUNT?",
        ),
        ({"": "5"}, "'': is no name of a setting"),
        (
            {"SEEDS_COMMAND": "touch x"},
            "SEEDS_COMMAND: cannot be given to a single crawl; scrapy serve -s gives it",
        ),
        ({"ITEM_PIPELINES": "{}"}, "ITEM_PIPELINES: cannot be given to a single crawl"),
        ({"FEEDS": "{}"}, "FEEDS: cannot be given to a single crawl"),
        ({"LOG_FILE": "/x"}, "LOG_FILE: cannot be given to a single crawl"),
        ({"FRONTIER_PRIORITISER": "os.system"}, "FRONTIER_PRIORITISER: cannot be given to a single crawl"),
        ({"REDIS_URL": "redis://h/0"}, "REDIS_URL: cannot be given to a single crawl"),
        ({"NOTIFY_WEBHOOKS": "http://h/"}, "NOTIFY_WEBHOOKS: cannot be given to a single crawl"),
        ({"FETCH_PRIVATE_ADDRESSES": "1"}, "FETCH_PRIVATE_ADDRESSES: cannot be given to a single crawl"),
        ({"SEEDS_PRIVATE_ADDRESSES": "1"}, "SEEDS_PRIVATE_ADDRESSES: is for the service to set"),
        ({"JOBDIR": "/x"}, "JOBDIR: is for the service to set, not for a single crawl"),
        ({"DASHBOARD_PORT": "1"}, "DASHBOARD_PORT: is for the service to set"),
    ],
)
def test_a_wrong_setting_is_one_problem(problems, given, sentence):
    [found] = problems({**CONTACT, **given})
    assert found.startswith(sentence)


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
    [found] = problems(**arguments)
    assert found.startswith(sentence)


def test_an_unknown_spider_and_a_missing_contact_are_problems(problems):
    assert problems(spider="brod") == ["brod: is no spider; did you mean broad?"]
    assert any("CRAWLER_CONTACT" in found for found in problems({}))


def test_private_addresses_are_for_services_that_allow_them(problems):
    given = {**CONTACT, "FETCH_PRIVATE_ADDRESSES": "10.0.0.0/8"}
    assert problems(given, private=True) == []


def test_no_open_setting_names_code_files_or_servers():
    names = (
        "FILE",
        "FOLDER",
        "DIR",
        "URL",
        "COMMAND",
        "HOOK",
        "MODULE",
        "CLASS",
        "PATH",
        "ENGINE",
        "SINK",
        "HOST",
    )
    telling = ("import path", "readable file", "a folder", "a command", "module:", "a URL")
    for setting in SETTINGS:
        if is_open(setting.name):
            assert not any(word in setting.reader.allowed for word in telling), setting.name
            if setting.reader.read.__qualname__.partition(".")[0] not in PLAIN:
                assert not any(name in setting.name for name in names), setting.name
    opened = {name for name in docs_tables.THEIRS if is_open(name)}
    assert opened <= {"COOKIES_ENABLED", "DOWNLOAD_DELAY", "LOG_LEVEL", "STATS_DUMP", "AUTOTHROTTLE_ENABLED"}
