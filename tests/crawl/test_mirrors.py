"""Hosts that serve the pages of another one: what their mirrors save and lose, by the server's log."""

from __future__ import annotations

import pytest

from tests.commands import own_process
from tests.crawl import expectation

SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "COMMIT_INTERVAL_SECONDS": 0,
    "TRAPS_QUARANTINE": 0,
    "POLITENESS_KEY": "host",
    "POLITENESS_MIN_DELAY": 0.03,
    "MIRRORS_LEARN": 1,
}


def counted(web):
    """The texts of the pages that were fetched, and the number of requests to each host."""
    urls = expectation.asked(web)
    return {web.site.text(url) for url in urls} - {None}, {
        name: sum(url.startswith(web.site.origin(name)) for url in urls) for name in web.site.names
    }


CERTAIN = ("original", "mirror", "lacking", "imitator", "portal")
"""The hosts of which no page can be lost, whatever the samples are."""


def test_no_page_is_lost(serve, crawl):
    """How many copies are withheld depends on how fast pages are processed: ``make soak`` has that."""
    web = serve(kind="mirrors", pages=40, sections=CERTAIN)
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    ended.assert_sound()
    texts, _ = counted(web)
    assert web.site.truth() - texts == set()


@pytest.mark.soak
def test_most_copies_of_a_mirror_are_not_fetched(serve, crawl):
    web = serve(kind="mirrors", pages=200, sections=("original", "mirror", "portal"))
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    ended.assert_sound()
    texts, requests = counted(web)
    print(requests, ended.figures().rules)
    assert web.site.truth() - texts == set()
    assert sum(requests.values()) <= 200 + 5 + 1 + 40
    [pair] = [
        pair
        for pair in own_process(ended.path.parent, "mirrors", ended.path, "--json").told["mirrors"]
        if pair["state"] == "confirmed"
    ]
    assert pair["withheld"] >= 150


@pytest.mark.soak
def test_a_crawl_that_is_killed_again_and_again_loses_nothing(serve, start):
    web = serve(kind="mirrors", pages=120, sections=CERTAIN)
    crawl = start(web.seeds, **SETTINGS)
    for lines in (30, 60, 100, 140, 200, 260):
        crawl.until_logged(lines)
        crawl.kill()
        crawl = start(web.seeds, of=crawl, **SETTINGS)
    crawl.wait().assert_ended_well()
    crawl.assert_sound()
    texts, requests = counted(web)
    print(requests)
    assert web.site.truth() - texts == set()


@pytest.mark.soak
def test_a_mirror_is_explained_and_undone_by_hand_and_its_urls_are_requested(serve, crawl):
    web = serve(kind="mirrors", pages=60, sections=("original", "mirror", "portal"))
    settings = {**SETTINGS, "POLITENESS_MIN_DELAY": 0.1}
    ended = crawl(web.seeds, **settings).assert_ended_well()
    asked = set(expectation.asked(web))
    [pair] = own_process(ended.path.parent, "mirrors", ended.path, "--json").told["mirrors"]
    assert (pair["state"], pair["withheld"] > 10) == ("confirmed", True)
    paths = [f"/page-{number}" for number in range(1, 60)]
    url = next(pair["mirror"] + path for path in paths if pair["mirror"] + path not in asked)
    told = own_process(ended.path.parent, "explain", url, "--json", JOBDIR=ended.path, MIRRORS_LEARN=1).told
    [word] = [word for word in told["scope"]["rules"] if word["rule"] == "mirror"]
    assert f"scrapy mirrors --undo {pair['id']}" in word["objection"]
    own_process(ended.path.parent, "mirrors", ended.path, "--undo", pair["id"])
    crawl(web.seeds, of=ended, **settings).assert_ended_well()
    every = {pair[name] + path for name in ("first", "mirror") for path in paths}
    assert every - set(expectation.asked(web)) == set()
    ended.assert_sound()
