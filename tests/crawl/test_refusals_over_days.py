"""A host that refuses, day by day and with several workers; parked domains and their release; and the settings."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from tests.commands import own_process
from tests.crawl.crawling import ROOT
from tests.fakeweb import Placement

DAY = 86_400
REFUSING, PARKED, UNKNOWN = "h0001.localhost", "h0002.localhost", "h0003.localhost"
PAGES = 12


@pytest.fixture(scope="module")
def web(serve):
    placements = (
        Placement("refuses", hosts=(REFUSING,), options={"how": "blocked-200"}),
        Placement("refuses", hosts=(PARKED,), options={"how": "parked"}),
        Placement("robots-challenge", hosts=(UNKNOWN,)),
    )
    return serve(hosts=4, pages=4 * PAGES, zipf=0.01, placements=placements)


@pytest.fixture
def log(web):
    """The hosts of the requests since the test began, and their number."""
    before = len(web.hits())

    def hits(host):
        return [hit for hit in web.hits()[before:] if hit.host == host]

    return hits


def pages_of(web, host):
    return [url for page in web.web.pages() if f"//{host}:" in (url := web.web.url(page))]


def let_a_day_pass(crawl):
    """Put all times that are stored back by a day."""
    with closing(sqlite3.connect(crawl.path / "frontier.db")) as frontier, frontier:
        frontier.execute("UPDATE hosts SET next_fetch_at = next_fetch_at - ?", (DAY,))
        frontier.execute(
            "UPDATE robots SET fetched_at = fetched_at - ?, expires_at = expires_at - ?", (DAY, DAY)
        )


def told(crawl):
    return crawl.stderr.count(f"{REFUSING} refuses this crawler")


def test_a_refusing_host_costs_three_requests_on_each_day_and_is_told_once(web, start, log):
    seeds = pages_of(web, REFUSING)
    settings = {"arguments": {"allow": "(?!)"}, "FRONTIER_PATIENCE_SECONDS": 1}
    crawl = start(seeds, **settings).wait().assert_ended_well()
    assert (len(log(REFUSING)), told(crawl)) == (3, 1)
    crawl = start(seeds, of=crawl, **settings).wait().assert_ended_well()
    assert (len(log(REFUSING)), told(crawl)) == (3, 0), "it is the same day"
    let_a_day_pass(crawl)
    crawl = start(seeds, of=crawl, **settings).wait().assert_ended_well()
    assert (len(log(REFUSING)), told(crawl)) == (6, 0)
    assert crawl.assert_sound().queued == len(seeds) - 4
    own_process(ROOT, "unpark", REFUSING, str(crawl.path), "--no-wait")
    crawl = start(seeds, of=crawl, **settings).wait().assert_ended_well()
    assert len(log(REFUSING)) > 6, "the operator wants it"


def test_two_workers_make_three_requests_together(web, start, serve_redis, log):
    redis = serve_redis()
    settings = {"arguments": {"allow": "(?!)"}, "REDIS_URL": redis.url, "FRONTIER_PATIENCE_SECONDS": 1}
    seeds = pages_of(web, REFUSING)
    workers = [start(seeds, WORKER_NAME=name, **settings) for name in ("one", "two")]
    for worker in workers:
        worker.wait().assert_ended_well()
    assert len(log(REFUSING)) == 3
    assert sum(map(told, workers)) == 1
    third = start(seeds, WORKER_NAME="three", **settings).wait().assert_ended_well()
    assert len(log(REFUSING)) == 3
    assert told(third) == 0
    text = own_process(ROOT, "errors", redis.url).out
    assert "blocked" in text
    assert "ask the site's owner; if the crawl is not wanted, exclude the site" in text


def test_no_page_is_fetched_of_a_host_whose_robots_txt_is_behind_a_challenge(web, start, log):
    settings = {"arguments": {"allow": "(?!)"}, "FRONTIER_PATIENCE_SECONDS": 0}
    crawl = start(pages_of(web, UNKNOWN), **settings).wait().assert_ended_well()
    assert {hit.path for hit in log(UNKNOWN)} == {"/robots.txt"}
    assert len(log(UNKNOWN)) <= 3
    assert {line["refusal"] for line in crawl.lines("robots")} == {"challenge"}


def test_urls_of_a_parked_domain_are_withheld_until_they_are_released(web, start, log):
    seeds = [*pages_of(web, "h0000.localhost"), pages_of(web, PARKED)[0]]
    crawl = start(seeds, arguments={"allow": f"h0000|{PARKED}"}).wait().assert_ended_well()
    assert len([hit for hit in log(PARKED) if not hit.is_robots]) < PAGES
    assert f"Trap: all URLs of {PARKED}" in crawl.stderr
    found = own_process(ROOT, "traps", "release", "all", JOBDIR=crawl.path)
    assert "/** is released" in found.out
    before = len(log(PARKED))
    again = start(seeds, of=crawl, arguments={"allow": f"h0000|{PARKED}"}).wait().assert_ended_well()
    assert len(log(PARKED)) > before
    later = [line for line in again.lines() if PARKED in line["url"]][-1]
    assert "refusal" not in later
    assert later["links"] > 0


def test_nothing_is_recognised_if_it_is_switched_off(web, start, log):
    seeds = pages_of(web, REFUSING)[:6]
    crawl = start(seeds, arguments={"allow": "(?!)"}, REFUSALS_RECOGNISE=0).wait().assert_ended_well()
    assert len(log(REFUSING)) == 7
    assert not any("refusal" in line for line in crawl.lines())


def test_the_number_of_requests_is_a_setting(web, start, log):
    seeds = pages_of(web, REFUSING)
    settings = {"FRONTIER_PATIENCE_SECONDS": 1, "HEALTH_REQUESTS_WHILE_REFUSED": 5}
    start(seeds, arguments={"allow": "(?!)"}, **settings).wait().assert_ended_well()
    assert len(log(REFUSING)) == 5


def test_a_signature_of_the_operator_is_recognised_and_a_wrong_file_is_refused(web, start, folder):
    path = folder / "signatures.toml"
    mark = '"<title>Request Rejected</title>"'
    path.write_text(f'[[signature]]\nname = "f5-block"\nkind = "legal"\nsuccess = true\nbody = [{mark}]\n')
    settings = {"arguments": {"allow": "(?!)"}, "REFUSALS_SIGNATURES_FILE": path}
    seeds = pages_of(web, REFUSING)
    crawl = start(seeds, **settings).wait().assert_ended_well()
    assert [line["refusal"] for line in crawl.lines()] == ["legal"] * len(seeds)
    path.write_text('[[signature]]\nname = "all"\n')
    wrong = start(seeds, **settings).wait()
    assert wrong.status == 2
    assert "REFUSALS_SIGNATURES_FILE" in wrong.stderr
    assert "signature all: kind must be one of challenge" in wrong.stderr


def test_a_spider_gets_refusals_in_its_errback_or_as_it_handles_statuses(web, crawl, folder):
    path = folder / "refused.jsonl"
    arguments = {"origin": web.web.origin(0), "hows": "challenge-200,script,login,payment"}
    options = ["-o", f"{path}:jsonlines"]
    ended = crawl(
        spider="refused-by-sites",
        module="tests.crawl.ordinary.settings",
        arguments=arguments,
        options=options,
        HEALTH_REQUESTS_WHILE_REFUSED=0,
    )
    ended.assert_ended_well()
    items = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(items, key=lambda item: item["how"]) == [
        {"how": "challenge-200", "arrived": "RefusedBySite", "kind": "challenge"},
        {"how": "login", "arrived": "HttpError", "kind": None},
        {"how": "payment", "arrived": "callback", "status": 402},
        {"how": "script", "arrived": "RefusedBySite", "kind": "script-required"},
    ]


def test_domains_with_the_same_start_page_are_parked(serve, start):
    hosts = 13
    names = tuple(f"h{number:04}.localhost" for number in range(hosts))
    web = serve(
        hosts=hosts,
        pages=2 * hosts,
        zipf=0.01,
        placements=(Placement("refuses", hosts=names, options={"how": "placeholder"}),),
    )
    seeds = [f"{web.web.origin(host)}/" for host in range(hosts)]
    crawl = start(seeds, REFUSALS_PARKED_NAMES=10).wait().assert_ended_well()
    parked = [line for line in crawl.lines() if line.get("refusal") == "parked"]
    assert len(parked) == hosts - 9
    assert all(line["refusal_detail"] == "the start page of many domains" for line in parked)
    assert crawl.stderr.count("the domain is parked, with the start page of many domains") == hosts - 9
