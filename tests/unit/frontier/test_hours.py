"""Hours of a crawl and of its sites: nothing is fetched outside of them, and the crawl does not end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.politeness.hours import FetchHours, read_hours

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3600.0
# NOW is 22:13 UTC.
CLOSED, OPEN = read_hours("8-12"), read_hours("20-23")
OPENS_IN = 9 * HOUR + 46 * 60 + 40


@pytest.fixture
def crawl() -> Iterator[SmallCrawl]:
    crawl = SmallCrawl()
    yield crawl
    crawl.dispose()


def change(crawl: SmallCrawl, hours: FetchHours) -> None:
    policies = replace(crawl.policies(), hours=hours)
    crawl.loop.call(crawl.frontier.change_policies, policies, crawl.limits)
    crawl.rest()


def test_outside_of_its_hours_a_crawl_begins_nothing_and_does_not_end(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "b.test/two")
    begun = crawl.clock.now
    change(crawl, FetchHours(CLOSED))
    assert crawl.lease() is None
    assert not crawl.is_finished()
    assert not crawl.loop.call(crawl.frontier.is_hungry)
    assert crawl.frontier.opens_at == crawl.frontier.snapshot().opens_at == begun + OPENS_IN
    assert crawl.frontier.next_at() == begun + OPENS_IN
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"
    assert crawl.clock.now == begun + OPENS_IN
    assert crawl.frontier.opens_at is None


def test_a_change_of_the_hours_has_effect_at_once(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one")
    change(crawl, FetchHours(CLOSED))
    assert crawl.lease() is None
    change(crawl, FetchHours(OPEN))
    assert crawl.lease() is not None


def test_when_the_hours_end_no_url_follows(crawl: SmallCrawl) -> None:
    change(crawl, FetchHours(OPEN))
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.clock.now += HOUR
    crawl.fetch(lease)
    crawl.clock.now += DELAY
    assert crawl.lease() is None
    assert not crawl.is_finished()


def test_a_crawl_without_urls_ends_outside_of_its_hours_too(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    change(crawl, FetchHours(CLOSED))
    crawl.fetch(lease)
    assert crawl.is_finished()


def test_hosts_that_are_parked_are_waited_for_until_the_hours_begin(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease, 503, retry_after_seconds=2 * HOUR)
    crawl.settle(lease, status=503)
    crawl.lease()
    assert crawl.is_finished()
    change(crawl, FetchHours(CLOSED))
    assert not crawl.is_finished()


@pytest.mark.parametrize("times", [1, 2])
def test_a_site_waits_for_its_hours_while_others_are_fetched(crawl: SmallCrawl, times: int) -> None:
    begun = crawl.clock.now
    change(crawl, FetchHours(sites={"a.test": (CLOSED,) * times}))
    crawl.add("a.test/one", "b.test/two")
    crawl.allow("b.test")
    crawl.fetch(crawl.wait_for_lease())
    assert crawl.lease() is None
    assert not crawl.is_finished()
    assert crawl.frontier.opens_at == begun + OPENS_IN
    assert crawl.frontier.snapshot().parked_hosts == 0
    assert crawl.loop.call(crawl.frontier.is_hungry), "other sites could be fetched"
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"
    assert crawl.clock.now == begun + OPENS_IN


@pytest.mark.parametrize("hours", [FetchHours(), FetchHours(sites={"a.test": (OPEN,)})])
def test_a_site_is_called_back_when_its_hours_are_changed(crawl: SmallCrawl, hours: FetchHours) -> None:
    change(crawl, FetchHours(sites={"a.test": (CLOSED,)}))
    crawl.add("a.test/one")
    assert crawl.lease() is None
    change(crawl, hours)
    lease = crawl.lease()
    assert lease is not None
    assert lease.entry.url == "http://a.test/robots.txt"


def test_a_site_with_a_page_under_way_is_called_back_too(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease)
    change(crawl, FetchHours(sites={"a.test": (CLOSED,)}))
    crawl.clock.now += DELAY
    assert crawl.lease() is None
    crawl.settle(lease)
    assert crawl.lease() is None
    change(crawl, FetchHours())
    lease = crawl.lease()
    assert lease is not None
    assert lease.entry.url == "http://a.test/two"
