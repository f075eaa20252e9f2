"""Servers close idle connections while requests are on their way to them: no page is lost by it, no host charged."""

from __future__ import annotations

import pytest

from tests.fakeweb import witness

MEASURING_ERROR = 0.005
ROUND_TRIP = 0.2
WEBS = {
    # The next request arrives when the connection has been closed, and leaves before that is known.
    "crossing": {"keep_alive_seconds": 0.3, "round_trip_seconds": ROUND_TRIP},
    "announced": {
        "keep_alive_seconds": 1.0,
        "keep_alive_announced": True,
        "round_trip_seconds": ROUND_TRIP,
    },
}
DELAYS = {"crossing": 0.2, "announced": 0.9}


@pytest.fixture(scope="module")
def webs(serve):
    return {name: serve(hosts=5, pages=20, zipf=0.0, **line) for name, line in WEBS.items()}


@pytest.fixture(scope="module")
def crawls(webs, start):
    started = {
        name: start(webs[name].seeds, POLITENESS_MIN_DELAY=DELAYS[name], RETRY_TIMES=0) for name in webs
    }
    return {name: crawl.wait().assert_ended_well() for name, crawl in started.items()}


@pytest.mark.parametrize("name", WEBS)
def test_every_page_comes_at_the_first_try(webs, crawls, name):
    crawls[name].assert_sound()

    assert crawls[name].statuses() == dict.fromkeys(webs[name].web.urls(), 200)
    assert [line for line in crawls[name].log() if "error" in line and "resent" not in line] == []


@pytest.mark.parametrize("name", WEBS)
def test_the_server_sees_each_request_once_and_in_its_time(webs, crawls, name):
    hits = webs[name].hits()

    assert witness.repeated(hits) == {}
    assert witness.violations(hits, lambda hit: DELAYS[name], tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits) == 1


def test_what_the_server_announced_to_close_is_not_used(webs, crawls):
    assert [line for line in crawls["announced"].log() if "resent" in line] == []
    hits = webs["announced"].hits()
    assert len({hit.connection for hit in hits}) == len(hits)


def test_the_log_says_which_request_was_sent_twice(crawls):
    lines = crawls["crossing"].log()
    for at, line in enumerate(lines):
        if "resent" in line:
            again = next(later for later in lines[at + 1 :] if later["url"] == line["url"])
            assert line["start"] <= line["end"] <= again["start"] <= again["end"]
