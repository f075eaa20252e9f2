"""``scrapy check`` fails when a contract does not hold, and when its page was not fetched."""

from __future__ import annotations

import os

import pytest

from tests import forked
from tests.commands import ROOT, Done
from tests.fakeweb.config import Placement


@pytest.fixture(scope="module")
def origin(serve):
    return serve(
        hosts=1, pages=1, placements=(Placement("robots-private", hosts=("h0000.localhost",)),)
    ).web.origin(0)


@pytest.fixture
def check(tmp_path, origin):
    def run(*words: str, private: bool = True) -> Done:
        environment = {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": "tests.crawl.ordinary.settings",
            "PYTHONPATH": str(ROOT),
            "CHECKED": origin,
        }
        settings = [
            "POLITENESS_MIN_DELAY=0",
            "POLITENESS_FACTOR=0",
            *(["FETCH_PRIVATE_ADDRESSES=1"] * private),
        ]
        given = [word for setting in settings for word in ("-s", setting)]
        done = forked.run(["check", *words, *given], tmp_path, environment)
        assert list(tmp_path.glob("crawls")) == []
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_contracts_that_hold_pass(check):
    done = check("contracted")
    assert done.status == 0, done.err
    assert "Ran 2 contracts" in done.err
    assert "OK" in done.err


def test_contracts_that_do_not_hold_and_pages_that_are_not_there_fail(check, origin):
    done = check("unfulfilled")
    assert done.status == 1
    assert "FAILED (failures=2, errors=1)" in done.err
    assert "Returned 0 items, expected 1" in done.err
    assert "HttpError" in done.err
    assert "[unfulfilled] parse_nothing (page not fetched)" in done.err
    assert "not fetched, it has no @url" in done.err


def test_a_page_that_is_refused_fails_with_the_reason(check, origin):
    done = check("contracted", private=False)
    assert done.status == 1
    assert "FAILED (failures=2)" in done.err
    assert f"not fetched, {origin}/x/ok?a: private-address (localhost and private networks are" in done.err
    done = check("forbidden")
    assert done.status == 1
    assert f"{origin}/private/page: robots (the site's robots.txt forbids it)" in done.err


def test_nothing_to_check_is_no_success(check):
    done = check("idiom")
    assert (done.status, done.err) == (1, "scrapy check: there are no contracts to check\n")


def test_a_wrong_setting_is_named(check):
    done = check("contracted", "-s", "POLITENES_KEY=host")
    assert done.status == 2
    assert done.err == "scrapy check: POLITENES_KEY: is not a setting; did you mean POLITENESS_KEY?\n"


def test_contracts_can_be_listed(check):
    done = check("-l", "contracted")
    assert done.status == 0
    assert done.out.split() == ["contracted", "*", "parse", "*", "parse_later"]
