"""From pages that are due to requests, and from what came of these to visits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.http import Request

from tests.rows import each_row
from webcrawl.archive.capture import ArchiveEntry, FetchRecord, Revisit
from webcrawl.crawl import request_codec
from webcrawl.crawl.running import Came
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.feature import RevisitsFeature, entry_at, known_page
from webcrawl.features.revisits.page import RevisitedPage, VisitOutcome
from webcrawl.features.revisits.policies import FixedPolicy, Pace
from webcrawl.features.revisits.store import VisitStore
from webcrawl.features.revisits.visits import VisitRules, Visits
from webcrawl.frontier.lease import Lease, Outcome, Result
from webcrawl.frontier.order import FIRST, Order
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.tally import Tally
from webcrawl.storage.contract import FOREVER, Counts, LeaseValidity
from webcrawl.storage.memory.tables import MemoryTables

NOW = 1_700_000_000.0
URL = "http://h.test/x"


class Books(Spider):
    name = "books"

    def parse_item(self, response: Any, word: str) -> None:
        """A callback."""


SPIDER = Books()
PAGE = RevisitedPage(
    "h.test", 7, URL, History.first(NOW), NOW, b"old", NOW, 'W/"é"', "then", depth=2, via="http://h.test/"
)


def entry_of(page: RevisitedPage) -> UrlEntry:
    return entry_at(
        page, FIRST, Order("breadth_first", None, NOW), SimpleNamespace(unchanged=0.5, age_seconds=9.0)
    )  # type: ignore[arg-type]


def test_a_page_that_is_due_is_queued_first_whatever_was_seen_and_asked_for_on_conditions() -> None:
    entry = entry_of(PAGE)
    assert (entry.url, entry.key, entry.fingerprint, entry.depth, entry.via) == (
        URL,
        "h.test",
        7,
        2,
        PAGE.via,
    )
    assert (entry.level, entry.repeat, entry.position > 0) == (FIRST, True, True)
    request = request_codec.decode(entry.url, entry.payload or "", SPIDER, entry.repeat)
    assert request.headers["If-None-Match"] == 'W/"é"'.encode("latin-1")
    assert request.headers["If-Modified-Since"] == b"then"
    known = known_page(entry)
    assert known is not None
    assert (known.digest, known.came_at) == (b"old", NOW)


def test_an_ordinary_request_is_made_again_as_it_was() -> None:
    request = Request(
        URL, SPIDER.parse_item, cb_kwargs={"word": "é"}, headers={"X-Own": "1"}, meta={"own": [1]}
    )
    payload = request_codec.encode(request, SPIDER).payload
    assert payload is not None
    entry = entry_of(RevisitedPage("h.test", 7, URL, PAGE.history, NOW, b"old", NOW, '"1"', payload=payload))
    request = request_codec.decode(URL, entry.payload or "", SPIDER, entry.repeat)
    assert (request.callback, request.cb_kwargs, request.meta["own"]) == (
        SPIDER.parse_item,
        {"word": "é"},
        [1],
    )
    assert (request.headers["X-Own"], request.headers["If-None-Match"]) == (b"1", b'"1"')
    assert "If-Modified-Since" not in request.headers
    assert request_codec.without_revisit(entry.payload) == payload
    assert request_codec.without_revisit(entry_of(PAGE).payload) is None


@each_row(
    ("request_", "repeatable"),
    [
        (Request(URL, headers={"A": "b"}), True),
        (Request(URL, SPIDER.parse_item), True),
        (Request(URL, method="POST", body=b"x"), False),
        (Request(URL, method="HEAD"), False),
    ],
)
def test_only_what_can_be_asked_again_is_visited_again(request_: Request, repeatable: bool) -> None:
    payload = request_codec.encode(request_, SPIDER).payload or "{}"
    assert request_codec.is_repeatable(payload) is repeatable
    assert not request_codec.is_repeatable(request_codec.with_token(payload, "t"))


@dataclass
class RecordedVisits:
    visits: list[Any] = field(default_factory=list)

    def record(self, visit: Any, entry: Any) -> None:
        self.visits.append((visit, entry))


def flown(
    entry: UrlEntry,
    result: Result = Result.FETCHED,
    status: int | None = 200,
    came: Came | None = None,
    validity: LeaseValidity = FOREVER,
) -> tuple[list[Any], Any, Tally]:
    """What is recorded of a flight, its record, and the tally."""
    recorded, tally = RecordedVisits(), Tally()
    error = None if status else "timeout"
    record = FetchRecord(
        NOW + 5, NOW + 6, URL, "h.test", None, "page", status, error, None, 0, None, None, 0, "w"
    )
    archived = None if status is None and result is Result.REFUSED else ArchiveEntry(record)
    lease = Lease(1, entry, NOW, key_validity=validity)
    outcome = Outcome(result, entry=archived)
    flight = SimpleNamespace(lease=lease, outcome=outcome, came=came, tally=tally)
    RevisitsFeature(recorded, lambda: NOW + 9, 2, "w").settled(flight)  # type: ignore[arg-type]
    return recorded.visits, record, tally


NEW, SAME, NOT_MODIFIED = (Came(digest, None, None, None) for digest in (b"new", b"old", None))
FIRST_TIME = UrlEntry(URL, "h.test", 7)


@each_row(
    ("result", "status", "came", "finding"),
    [
        (Result.FETCHED, 200, NEW, VisitOutcome.CAME),
        (Result.FETCHED, 304, NOT_MODIFIED, VisitOutcome.CAME),
        (Result.FETCHED, 404, None, VisitOutcome.GONE),
        (Result.FETCHED, 410, None, VisitOutcome.GONE),
        (Result.REDIRECTED, 301, None, VisitOutcome.GONE),
        (Result.FETCHED, 403, None, VisitOutcome.FAILED),
        (Result.FETCHED, 500, None, VisitOutcome.FAILED),
        (Result.FAILED, None, None, VisitOutcome.FAILED),
        (Result.REFUSED, None, None, VisitOutcome.REFUSED),
    ],
)
def test_what_became_of_a_revisit_is_told(
    result: Result, status: int | None, came: Came | None, finding: VisitOutcome
) -> None:
    [(visit, entry)], record, tally = flown(entry_of(PAGE), result, status, came)
    assert tally.revisits == (status is not None)
    assert (visit.finding, visit.id, visit.payload) == (finding, PAGE.id, None)
    assert visit.at == (NOW + 9 if entry is None else NOW + 5)
    if entry is not None:
        assert record.extra["revisit"] is True
        assert ("changed" in record.extra) == (finding is VisitOutcome.CAME)


@pytest.mark.parametrize(("came", "changed"), [(NEW, True), (SAME, False), (NOT_MODIFIED, False)])
def test_a_page_that_came_has_changed_or_not(came: Came, changed: bool) -> None:
    _, record, tally = flown(entry_of(PAGE), came=came)
    assert record.extra["changed"] is changed
    assert (tally.revisits, tally.unchanged) == (1, not changed)


def test_of_first_visits_only_pages_that_came_are_told() -> None:
    [(visit, _)], record, tally = flown(FIRST_TIME, came=NEW)
    assert (visit.finding, visit.digest, record.extra, tally.revisits) == (VisitOutcome.CAME, b"new", {}, 0)
    assert flown(FIRST_TIME, status=404)[0] == []
    assert flown(FIRST_TIME, Result.FAILED, None)[0] == []
    assert flown(FIRST_TIME, status=304, came=NOT_MODIFIED)[0] == []


def test_what_goes_back_to_its_queue_was_no_visit() -> None:
    again = entry_of(PAGE)
    assert flown(again, Result.ABANDONED, 200)[0] == []
    assert flown(again, Result.RETRY, 503)[0] == []
    again.attempts = 2
    [(visit, _)], _, _ = flown(again, Result.RETRY, 503)
    assert visit.finding is VisitOutcome.FAILED
    over = LeaseValidity(0.0)
    assert flown(again, Result.FAILED, None, validity=over)[0] == []
    assert len(flown(again, came=NEW, validity=over)[0]) == 1


def test_what_cannot_be_asked_again_is_not_remembered() -> None:
    payload = request_codec.encode(Request(URL, method="POST", body=b"x"), SPIDER).payload
    assert flown(UrlEntry(URL, "h.test", 7, payload=payload), came=NEW)[0] == []
    long = request_codec.encode(Request(URL, meta={"x": "y" * 5000}), SPIDER).payload
    assert flown(UrlEntry(URL, "h.test", 7, payload=long), came=NEW)[0] == []


@pytest.mark.parametrize(("has_fetched", "remembers"), [(True, False), (True, True), (False, False)])
def test_a_crawl_says_so_if_it_remembers_nothing_of_what_it_fetched(
    has_fetched: bool, remembers: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store = VisitStore(MemoryTables())
    if remembers:
        asyncio.run(store.keep([PAGE]))
    visits = Visits(store, VisitRules(FixedPolicy(Pace())), lambda: NOW, None, lambda url: ("", 0))
    asyncio.run(RevisitsFeature(visits, lambda: NOW, 2, "w").open(Counts(done=int(has_fetched))))
    assert ("not recorded" in caplog.text) == (has_fetched and not remembers)


@pytest.mark.parametrize(("url", "stored_at"), [(URL, NOW - 9), ("http://h.test/other", None)])
def test_a_payload_that_the_archive_had_from_this_url_is_named_by_its_date(
    url: str, stored_at: float
) -> None:
    recorded = RecordedVisits()
    record = FetchRecord(NOW, NOW, URL, "h.test", None, "page", 200, None, None, 0, None, None, 0, "w")
    archived = ArchiveEntry(record, revisit=Revisit("identical-payload-digest", url, NOW - 9))
    outcome = Outcome(Result.FETCHED, entry=archived)
    flight = SimpleNamespace(lease=Lease(1, FIRST_TIME, NOW), outcome=outcome, came=SAME, tally=Tally())
    RevisitsFeature(recorded, lambda: NOW, 2, "w").settled(flight)  # type: ignore[arg-type]
    assert recorded.visits[0][0].stored_at == stored_at
