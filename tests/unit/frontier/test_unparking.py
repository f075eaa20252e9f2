"""Hosts that are parked or given up are contacted again when an operator asks for it, no sooner than is polite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier.lease import Result

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def crawl() -> Iterator[SmallCrawl]:
    made = SmallCrawl()
    yield made
    made.dispose()


def fail(crawl: SmallCrawl, times: int) -> None:
    """Let requests to the host fail, one after the other."""
    for _ in range(times):
        lease = crawl.wait_for_lease()
        crawl.end(lease, None, error="timeout")
        crawl.settle(lease, Result.FAILED, None)


def unpark(crawl: SmallCrawl, key: str = "a.test") -> bool:
    done = bool(crawl.loop.run(crawl.frontier.unpark(key)))
    crawl.rest()
    return done


def test_a_parked_host_is_contacted_after_its_delay_and_is_parked_again_only_after_as_many_failures(
    crawl: SmallCrawl,
) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(9)))
    crawl.allow("a.test")
    fail(crawl, 2)
    assert crawl.lease() is None
    assert crawl.frontier.next_at() >= crawl.clock.now + 60
    assert unpark(crawl)
    assert crawl.lease() is None, "its delay holds"
    crawl.clock.now += DELAY
    lease = crawl.lease()
    assert lease is not None
    crawl.end(lease, None, error="timeout")
    crawl.settle(lease, Result.FAILED, None)
    assert crawl.frontier.next_at() <= crawl.clock.now + DELAY


def test_a_host_that_is_given_up_is_contacted_again(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(9)))
    crawl.allow("a.test")
    while crawl.frontier.snapshot().given_up_hosts == 0:
        fail(crawl, 1)
        crawl.lease()
    assert crawl.is_finished()
    assert unpark(crawl)
    crawl.clock.now += DELAY
    lease = crawl.lease()
    assert lease is not None
    assert lease.entry.url.startswith("http://a.test/")
    crawl.fetch(lease)


def test_a_robots_txt_that_could_not_be_had_is_requested_again(crawl: SmallCrawl) -> None:
    crawl.add("a.test/page")
    for _ in range(3):
        crawl.answer_robots(crawl.wait_for_lease(), 503)
    assert crawl.lease() is None
    assert unpark(crawl)
    crawl.clock.now += DELAY
    lease = crawl.lease()
    assert lease is not None
    assert lease.entry.url == "http://a.test/robots.txt"
    crawl.answer_robots(lease)
    assert crawl.wait_for_lease().entry.url == "http://a.test/page"


def test_a_host_that_is_not_parked_is_left_as_it_is(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    at = crawl.frontier.next_at()
    assert not unpark(crawl)
    assert crawl.frontier.next_at() == at
    lease = crawl.wait_for_lease()
    assert not unpark(crawl), "while a request is open"
    crawl.fetch(lease)
    assert crawl.frontier.next_at() == crawl.clock.now + DELAY


def test_a_pause_that_a_host_has_asked_for_is_kept(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease, 503, retry_after_seconds=3600.0)
    crawl.settle(lease, Result.FETCHED, 503)
    crawl.lease()
    asked_until = crawl.clock.now + 3600
    assert crawl.frontier.next_at() == asked_until
    unpark(crawl)
    crawl.lease()
    assert crawl.frontier.next_at() == asked_until
