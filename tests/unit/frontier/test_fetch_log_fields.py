"""What the frontier tells for the fetch log: what is owed after a request, what a robots.txt came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.archive.samples import record
from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.lease import FetchEnd
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import LeaseValidity

if TYPE_CHECKING:
    from typing import Any


def ended(crawl: SmallCrawl, **words: Any) -> FetchEnd:
    """The ending of the next page, as the frontier leaves it."""
    lease = crawl.wait_for_lease()
    if "validity" in words:
        lease.key_validity = words.pop("validity")
    now = crawl.clock.now
    ending = FetchEnd(words.pop("started_at", now), now, **{"status": 200, **words})
    crawl.loop.call(crawl.frontier.ended, lease, ending)
    crawl.settle(lease)
    return ending


def test_after_each_request_its_delay_and_its_number_are_known(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2", "a.test/3")
    crawl.allow("a.test")
    endings = [ended(crawl), ended(crawl), ended(crawl)]
    assert [ending.delay_seconds for ending in endings] == pytest.approx([DELAY] * 3)
    first = endings[0].number
    assert first is not None
    assert [ending.number for ending in endings] == [first, first + 1, first + 2]


def test_a_retry_after_is_part_of_what_is_owed(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    assert ended(crawl, status=429, retry_after_seconds=700.0).delay_seconds == pytest.approx(700.0)


def test_nothing_is_known_where_nothing_was_sent_or_the_key_was_lost(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    for ending in (ended(crawl, started_at=None), ended(crawl, validity=LeaseValidity(0.0))):
        assert (ending.delay_seconds, ending.number) == (None, None)


def test_the_line_of_a_robots_txt_tells_what_it_came_to() -> None:
    line = ArchiveEntry(record(kind="robots"))
    record_of_it = RobotsRecord("http://a.test", RobotsState.RULES, 1.0, 86_401.00049, "", 2.5)
    requests.add_facts(line, record_of_it, Politeness("fixed", 1.0, 1.0, 0.0, crawl_delay_max=2.5))
    told = {
        "origin": "http://a.test",
        "robots": "rules",
        "until": 86_401.0,
        "robots_received": 1.0,
        "crawl_delay": 2.5,
    }
    assert line.record.extra == told
    assert type(line.record.extra["robots"]) is str
    skipping = Politeness("fixed", 1.0, 1.0, 0.0, crawl_delay_max=2.4)
    requests.add_facts(line, record_of_it, skipping)
    assert line.record.extra == {**told, "skipped": True}
    requests.add_facts(None, RobotsRecord("http://a.test", RobotsState.PENDING, 1.0, 2.0), skipping)
