"""A text of robots.txt that was once had stays in force while it cannot be had: day after day, over restarts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier.lease import FetchEnd, Result
from webcrawl.robots.answer import TTL_SECONDS

if TYPE_CHECKING:
    pass

TEXT = "User-agent: *\nDisallow: /private"
TROUBLE = [(500, {}), (503, {}), (429, {"retry_after_seconds": 3600.0}), (0, {"error": "timeout"})]


def fetch(crawl: SmallCrawl) -> str:
    """What is fetched next; its clock moves on."""
    lease = crawl.wait_for_lease()
    assert lease.entry.kind == "page", lease.entry.url
    crawl.fetch(lease)
    return lease.entry.url.rpartition("/")[2]


@pytest.mark.parametrize(("status", "words"), TROUBLE)
@pytest.mark.parametrize("restart", [False, True])
def test_the_last_text_stays_in_force_after_it_has_expired(
    crawl: SmallCrawl, status: int, words: dict[str, float], restart: bool
) -> None:
    crawl.add("a.test/1", *(f"a.test/{number}" for number in range(2, 6)), "a.test/private")
    crawl.answer_robots(crawl.wait_for_lease(), 200, TEXT)
    assert fetch(crawl) == "1"
    for number in ("2", "3", "4"):
        crawl.clock.now += TTL_SECONDS
        lease = crawl.wait_for_lease()
        assert lease.entry.url == "http://a.test/robots.txt"
        crawl.answer_robots(lease, status, **words)
        if restart:
            crawl.restart()
        assert fetch(crawl) == number
    assert fetch(crawl) == "5"
    crawl.clock.now += DELAY
    assert crawl.lease() is None
    assert crawl.frontier.tally.refused_by_rule["robots"] == 1


@pytest.mark.parametrize("restart", [False, True])
def test_it_stays_in_force_too_where_another_host_was_to_bring_it(crawl: SmallCrawl, restart: bool) -> None:
    """While the redirect's target is asked the key of the origin waits, and is not in memory any more."""
    crawl.add("a.test/1", "a.test/2", "a.test/private")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://b.test/r.txt")
    crawl.answer_robots(crawl.wait_for_lease(), 200, TEXT)
    assert fetch(crawl) == "1"
    crawl.clock.now += TTL_SECONDS
    crawl.redirect_robots(crawl.wait_for_lease(), "http://b.test/r.txt")
    if restart:
        crawl.restart()
    hop = crawl.wait_for_lease()
    assert hop.entry.url == "http://b.test/r.txt"
    known = crawl.loop.run(crawl.backend.read_robots("http://a.test", "a.test"))
    crawl.answer_robots(hop, 500, previous=known)
    assert fetch(crawl) == "2"


def test_without_a_text_nothing_is_fetched_however_often_it_is_asked_for(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    times = []
    for _ in range(6):
        lease = crawl.wait_for_lease()
        assert lease.entry.url == "http://a.test/robots.txt"
        times.append(crawl.clock.now)
        crawl.answer_robots(lease, 500)
    waits = [later - sooner for sooner, later in pairwise(times)]
    assert waits[0] == DELAY
    assert all(longer > 1.9 * shorter for shorter, longer in pairwise(waits[2:]))
    assert waits[-1] >= 30
    crawl.answer_robots(crawl.wait_for_lease(), 404)
    assert fetch(crawl) == "1"


def test_the_urls_of_a_dead_host_are_counted_and_kept_for_the_next_start(crawl: SmallCrawl) -> None:
    crawl.add("dead.test/1", "dead.test/2", "dead.test/3")
    tries = []
    while not crawl.is_finished():
        crawl.answer_robots(crawl.wait_for_lease(), 0, error="dns")
        tries.append(crawl.clock.now)
    assert len(tries) == 3
    assert tries == sorted(tries)
    known = crawl.frontier.snapshot()
    assert (known.queued, known.given_up_hosts, known.given_up_urls) == (3, 1, 3)
    crawl.restart()
    assert crawl.wait_for_lease().entry.url == "http://dead.test/robots.txt"
    assert crawl.frontier.snapshot().queued == 3


@pytest.mark.parametrize("result", list(Result))
def test_an_origin_of_whose_robots_txt_nobody_tells_is_asked_ever_less_often(
    crawl: SmallCrawl, result: Result
) -> None:
    crawl.add("a.test/1")
    asked_at = []
    for _ in range(6):
        lease = crawl.wait_for_lease()
        assert lease.entry.url == "http://a.test/robots.txt"
        asked_at.append(crawl.clock.now)
        crawl.loop.call(crawl.frontier.ended, lease, FetchEnd(None, crawl.clock.now))
        crawl.settle(lease, result)

    pauses = [after - before for before, after in pairwise(asked_at)]
    assert all(after >= 1.9 * before for before, after in pairwise(pauses))
    assert pauses[-1] >= 30


def test_a_hop_of_a_robots_txt_of_which_nobody_tells_is_not_fetched_again(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://b.test/robots.txt")
    hop = crawl.wait_for_lease()
    assert hop.entry.url == "http://b.test/robots.txt"
    crawl.end(hop)
    crawl.settle(hop, Result.ABANDONED)

    asked_at = crawl.clock.now
    again = crawl.wait_for_lease()
    assert again.entry.url == "http://a.test/robots.txt"
    assert crawl.clock.now >= asked_at + 60 / 32
