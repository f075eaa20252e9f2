"""A signal ends a crawl cleanly, and the same command goes on as if nothing had been."""

from __future__ import annotations

import signal

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PAGES = 120
DELAY = 0.2


@pytest.fixture(scope="module")
def stopped(serve, start):
    """Signal to (web, crawl): each stopped in the middle."""
    started = {}
    for number in SIGNALS:
        web = serve(hosts=12, pages=PAGES, zipf=0.3, seed=8)
        crawl = start(web.seeds, afresh=True, POLITENESS_MIN_DELAY=DELAY)
        # It runs on alone until it has its signal: while another is waited for, it would end.
        crawl.until_logged(30)
        crawl.signal(number)
        started[number] = (web, crawl)
    for _, crawl in started.values():
        crawl.wait()
    return started


@pytest.fixture(scope="module")
def resumed(stopped, crawl):
    return {number: crawl(web.seeds, of=first) for number, (web, first) in stopped.items()}


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_crawl_with_status_0_and_says_how_to_go_on(stopped, number):
    web, crawl = stopped[number]
    crawl.assert_ended_well()

    assert f"JOBDIR={crawl.path}" in crawl.stderr
    assert 0 < len(set(expectation.asked(web))) < PAGES


@pytest.mark.parametrize("number", SIGNALS)
def test_everything_is_in_order_after_it(stopped, number):
    _, crawl = stopped[number]
    figures = crawl.assert_sound()

    assert figures.active_hosts == 0
    assert figures.queued > 0
    assert not list(crawl.path.rglob("*.open"))
    assert crawl.records()


@pytest.mark.parametrize("number", SIGNALS)
def test_the_same_command_completes_it_and_fetches_nothing_twice(stopped, resumed, number):
    web, _ = stopped[number]
    crawl = resumed[number].assert_ended_well()

    assert crawl.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}
    assert witness.violations(web.hits(), lambda hit: 0.0) == []
    assert {hit.host for hit in web.hits() if hit.is_robots} == set(web.web.hosts)
    assert len([hit for hit in web.hits() if hit.is_robots]) == len(web.web.hosts)
    assert crawl.assert_sound().queued == 0
    assert "Going on with the crawl" in crawl.stderr


def test_a_second_signal_forces_the_end_and_nothing_is_lost(serve, start, crawl):
    """A server that never answers holds the first signal up; the second one does not wait for it."""
    web = serve(hosts=6, pages=60)
    silent = f"{web.web.origin(1)}/x/silent"
    first = start([silent, *web.seeds], DOWNLOAD_TIMEOUT=30)
    robots = f"{web.web.origin(1)}/robots.txt"
    first.until(lambda: len(lines := first.log()) > 20 and robots in {line["url"] for line in lines})
    first.signal()
    first.until(lambda: "Received SIGINT" in first.stderr)
    first.signal()
    first.wait(10)

    assert first.status == 1
    assert "stopped by force; requests in flight" in first.stderr
    assert "broad was stopped by force after" in first.stderr
    assert f"to go on: scrapy crawl broad -a seeds={silent}" in first.stderr
    assert "Traceback" not in first.stderr
    assert silent in {url for (url,) in first.query("SELECT url FROM queue")}
    second = crawl(web.seeds, of=first, DOWNLOAD_TIMEOUT=1, RETRY_TIMES=0).assert_ended_well()
    assert set(expectation.depths(web)) <= set(second.fetched())
    assert second.line(silent)["error"] == "timeout"
    assert second.assert_sound().queued == 0


def test_signals_in_the_last_moment_of_a_stop_do_not_change_its_status(serve, start):
    web = serve(hosts=6, pages=60)
    crawl = start(web.seeds, afresh=True, POLITENESS_MIN_DELAY=0.3)
    crawl.until_logged(12)
    crawl.signal(signal.SIGTERM)
    crawl.until(lambda: "broad was stopped after" in crawl.stderr)
    while crawl.process.poll() is None:
        crawl.signal(signal.SIGTERM)

    assert crawl.wait().status == 0
    assert "was stopped by force" not in crawl.stderr


def test_a_crawl_that_has_ended_has_status_0_however_long_its_process_takes_to_end(serve, start):
    web = serve(hosts=1, pages=2)
    crawl = start(web.seeds, afresh=True, EXTENSIONS='{"tests.process.slow_end.SlowEnd": 0}')

    assert crawl.wait().status == 0
    assert "was stopped by force" not in crawl.stderr
