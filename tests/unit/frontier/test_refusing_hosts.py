"""A host that refuses the crawler costs at most three requests a day, and its queue is kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier.lease import Result
from webcrawl.politeness.health import Health
from webcrawl.politeness.host_record import HostRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.frontier.lease import Lease

DAY = 86_400.0


@pytest.fixture
def crawl() -> Iterator[SmallCrawl]:
    made = SmallCrawl()
    yield made
    made.dispose()


def refuse(crawl: SmallCrawl, lease: Lease, kind: str = "challenge") -> None:
    """Let a page be refused by its status and header."""
    crawl.end(lease, 403, refusal=kind)
    crawl.settle(lease, Result.FAILED, 403, rule=kind)


def refuse_by_content(crawl: SmallCrawl, lease: Lease) -> float | None:
    """Let a page with status 200 turn out to be a refusal when it is read."""
    crawl.end(lease)
    pause = crawl.loop.run(_judged(crawl, lease, "challenge"))
    crawl.settle(lease, Result.FAILED, 200, rule="challenge")
    return pause


def read(crawl: SmallCrawl, lease: Lease) -> None:
    """Let a page with status 200 be one when it is read."""
    crawl.end(lease)
    crawl.loop.run(_judged(crawl, lease, None))
    crawl.settle(lease)


async def _judged(crawl: SmallCrawl, lease: Lease, refusal: str | None) -> float | None:
    return crawl.frontier.judge(lease, refusal)


def requests_of(crawl: SmallCrawl, days: float, refusing: object = refuse) -> list[float]:
    """The times of the requests to a host that refuses all of them, robots.txt apart, over some days."""
    times: list[float] = []
    end = crawl.clock.now + days * DAY
    while crawl.clock.now < end:
        lease = crawl.lease()
        if lease is None:
            at = crawl.frontier.next_at()
            if at is None or at >= end:
                return times
            crawl.clock.now = max(at, crawl.clock.now)
            continue
        times.append(crawl.clock.now)
        if lease.entry.kind == "robots":
            crawl.answer_robots(lease)
        else:
            assert callable(refusing)
            refusing(crawl, lease)
    return times


def most_in_a_day(times: list[float]) -> int:
    return max(sum(start <= at < start + DAY for at in times) for start in times)


@pytest.mark.parametrize("refusing", [refuse, refuse_by_content])
def test_a_host_that_refuses_costs_three_requests_a_day_robots_txt_included(
    crawl: SmallCrawl, refusing: object
) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)))
    times = requests_of(crawl, 5, refusing)
    assert most_in_a_day(times) == 3
    assert len(times) >= 14
    assert crawl.frontier.snapshot().queued > 35


def test_a_page_ends_it(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)))
    assert len(requests_of(crawl, 0.5)) == 3
    crawl.clock.now += DAY
    lease = crawl.wait_for_lease()
    if lease.entry.kind == "robots":
        crawl.answer_robots(lease)
        lease = crawl.wait_for_lease()
    read(crawl, lease)
    started = crawl.clock.now
    for _ in range(5):
        read(crawl, crawl.wait_for_lease())
    assert crawl.clock.now - started == 5 * DELAY


def test_pages_between_refusals_keep_a_host_from_being_left_alone(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)))
    crawl.allow("a.test")
    started = crawl.clock.now
    for _ in range(10):
        refuse(crawl, crawl.wait_for_lease())
        read(crawl, crawl.wait_for_lease())
    assert crawl.clock.now - started <= 20 * DELAY


def test_a_pause_that_begins_when_the_page_is_read_is_told(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(5)))
    crawl.allow("a.test")
    assert refuse_by_content(crawl, crawl.wait_for_lease()) is None
    assert refuse_by_content(crawl, crawl.wait_for_lease()) == DAY


def test_it_is_logged_once_until_a_page_comes(crawl: SmallCrawl, caplog: pytest.LogCaptureFixture) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)))
    with caplog.at_level(logging.WARNING):
        requests_of(crawl, 4)
    [record] = [record for record in caplog.records if "refuses this crawler" in record.getMessage()]
    assert "gets 3 requests a day" in record.getMessage()
    assert "sign the requests (Web Bot Auth)" in record.getMessage()
    assert crawl.frontier.tally.refusing_hosts == 1
    assert crawl.frontier.tally.last_refusing == ("a.test", "challenge")


def test_an_operator_may_have_it_contacted_again(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)))
    requests_of(crawl, 0.1)
    assert crawl.lease() is None
    crawl.loop.run(crawl.frontier.unpark("a.test"))
    crawl.rest()
    crawl.clock.now += DELAY
    assert crawl.lease() is not None


def test_a_refused_page_counts_neither_as_a_page_nor_as_a_failure() -> None:
    health, record = Health(), HostRecord("a", fetches=2, failures=2)
    assert not health.refused(record, "challenge", 100.0)
    assert (record.failures, record.parks, record.last_error, record.answered) == (2, 0, "challenge", True)


@each_row(("requests", "rests"), [(0, False), (1, True), (4, False), (3, True)])
def test_the_number_of_requests_is_a_setting_and_0_is_no_limit(requests: int, rests: bool) -> None:
    health, record = Health(requests_while_refused=requests), HostRecord("a", fetches=3)
    assert health.refused(record, "blocked", 100.0) is rests
    assert record.next_fetch_at == (100.0 + DAY if rests else 0.0)


def test_requests_before_the_first_refusal_of_a_host_that_gave_pages_do_not_count() -> None:
    health, record = Health(), HostRecord("a", fetches=500, pages=400)
    assert not health.refused(record, "blocked", 100.0)
    record.fetches += 1
    assert not health.while_refused(record, 101.0)
    record.fetches += 1
    assert health.refused(record, "blocked", 102.0)
    assert record.refusal_rests == 1


def test_a_pause_that_a_refusal_asks_for_is_kept() -> None:
    health, record = Health(), HostRecord("a", fetches=2)
    health.refused(record, "challenge", 100.0, 3600.0)
    assert (record.next_fetch_at, record.asked_until) == (3700.0, 3700.0)
    health.refused(record, "challenge", 100.0, float("nan"))
    health.refused(record, "challenge", 100.0, 1e9)
    assert record.next_fetch_at == 100.0 + DAY


def test_a_second_rest_is_no_news() -> None:
    health, record = Health(requests_while_refused=1), HostRecord("a", fetches=1)
    assert health.refused(record, "blocked", 100.0)
    record.fetches += 1
    assert not health.refused(record, "blocked", 100.0 + DAY)
    assert record.next_fetch_at == 100.0 + 2 * DAY
    health.welcomed(record)
    record.fetches += 1
    record.pages = 1
    assert health.refused(record, "blocked", 100.0 + 2 * DAY)
