"""What came of a request whose hold on the key was over: the page counts, a failure does not."""

from __future__ import annotations

import pytest

from tests.unit.frontier.small_crawl import SmallCrawl
from webcrawl.frontier.lease import Lease, Result
from webcrawl.frontier.records import State
from webcrawl.storage.contract import LeaseValidity


def page_without_hold(crawl: SmallCrawl) -> Lease:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    lease.key_validity = LeaseValidity(0.0)
    return lease


def state(crawl: SmallCrawl, lease: Lease) -> State | None:
    record = crawl.loop.run(crawl.backend.url_record(lease.entry.key, lease.entry.fingerprint))
    return None if record is None else record.state


@pytest.mark.parametrize("result", [Result.FAILED, Result.RETRY])
def test_a_failure_costs_the_url_no_attempt(crawl: SmallCrawl, result: Result) -> None:
    lease = page_without_hold(crawl)
    lease.entry.attempts = 1
    crawl.end(lease, None, error="timeout")
    crawl.settle(lease, result)
    assert state(crawl, lease) is State.QUEUED
    again = crawl.wait_for_lease()
    assert (again.entry.url, again.entry.attempts) == (lease.entry.url, 1)


def test_a_failure_is_no_word_on_the_host(crawl: SmallCrawl) -> None:
    lease = page_without_hold(crawl)
    for _ in range(3):
        crawl.end(lease, None, error="timeout")
    [host] = crawl.backend._hosts.values()
    assert host.record.failures == 0
    assert not host.record.parked


def test_a_page_is_done(crawl: SmallCrawl) -> None:
    lease = page_without_hold(crawl)
    crawl.end(lease)
    crawl.settle(lease)
    assert state(crawl, lease) is State.DONE


def test_a_robots_txt_that_was_cut_off_takes_the_place_of_no_answer(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    lease = crawl.wait_for_lease()
    validity, lease.key_validity = lease.key_validity, LeaseValidity(0.0)
    crawl.answer_robots(lease, 0, error="timeout")
    assert not crawl.backend._robots
    assert not validity.is_over()
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"
