"""The index of all hosts: pages of it are those of a plain sort of a plain list."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from webcrawl.errors import JobdirUnusable
from webcrawl.storage.inspection import Activity, HostSummary
from webcrawl.web.dashboard import host_index
from webcrawl.web.dashboard.host_index import SORTS, STATES, HostIndex

NOW = 1_700_000_000.0


class Crawl:
    """Hosts of every kind; the reader gives some at a time."""

    def __init__(self, number: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.hosts = [self.host(place) for place in range(number)]

    def host(self, place: int) -> HostSummary:
        rng = self.rng
        return HostSummary(
            f"{rng.choice(('www', 'shop', 'blog'))}.site{place}.{rng.choice(('com', 'org'))}",
            rng.choice((Activity.ACTIVE, Activity.IDLE, Activity.IDLE, Activity.GIVEN_UP, Activity.EMPTY)),
            rng.random() < 0.2,
            rng.randrange(50),
            5.0 + rng.randrange(4),
            NOW + rng.randrange(-10, 10),
            rng.randrange(30),
            rng.randrange(30),
            rng.choice((0, 0, 1, 4)),
            rng.choice((None, "dns", "timeout")),
        )

    def read(self) -> Iterator[list[HostSummary]]:
        for first in range(0, len(self.hosts), 7):
            yield self.hosts[first : first + 7]

    def state(self, one: HostSummary) -> str:
        if one.activity is Activity.ACTIVE and not one.queued:
            return "empty"
        if one.activity is not Activity.IDLE:
            return str(one.activity)
        if one.is_parked:
            return "parked"
        return "ready" if one.next_fetch_at <= NOW else "waiting"


@pytest.fixture
def crawl() -> Crawl:
    return Crawl(200, seed=3)


@pytest.fixture
def index(crawl: Crawl) -> Iterator[HostIndex]:
    made = HostIndex(crawl.read, clock=lambda: NOW, cpu_share=1e9)
    made.refresh()
    yield made
    made.close()


FIELDS = {
    "queued": "queued",
    "requests": "requests",
    "pages": "pages",
    "delay": "delay_seconds",
    "failures": "failures",
    "next_at": "next_fetch_at",
}


@pytest.mark.parametrize("few", [0, 10_000], ids=["along the index", "all that is found"])
@pytest.mark.parametrize("search", ["", "SHOP.site1", "org", "nowhere"])
@pytest.mark.parametrize("state", ["", *STATES])
def test_a_page_is_a_part_of_the_sorted_list(
    index: HostIndex, crawl: Crawl, search: str, state: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_index, "FEW", few)
    wanted = [
        one for one in crawl.hosts if search.lower() in one.key and (not state or crawl.state(one) == state)
    ]
    for sort, name in FIELDS.items():
        for order in ("asc", "desc"):
            ordered = sorted(wanted, key=lambda one: (getattr(one, name), one.key), reverse=order == "desc")
            for offset in (0, 5, 190):
                page = index.page(search=search, state=state, sort=sort, order=order, limit=20, offset=offset)
                assert page["total"] == len(wanted)
                assert page["as_of"] == NOW
                assert [row["key"] for row in page["rows"]] == [one.key for one in ordered[offset:][:20]]
                assert all(not state or row["state"] == state for row in page["rows"])


@pytest.mark.parametrize("sort", SORTS)
def test_each_order_is_the_reverse_of_the_other(index: HostIndex, sort: str) -> None:
    up, down = (index.page(sort=sort, order=order, limit=500)["rows"] for order in ("asc", "desc"))
    assert up == down[::-1]
    assert len(up) == 200


def test_a_row_has_what_is_known_of_the_host(index: HostIndex, crawl: Crawl) -> None:
    one = next(one for one in crawl.hosts if crawl.state(one) == "waiting")
    assert index.page(search=one.key)["rows"] == [
        {
            "key": one.key,
            "state": "waiting",
            "queued": one.queued,
            "requests": one.requests,
            "pages": one.pages,
            "delay": one.delay_seconds,
            "next_at": one.next_fetch_at,
            "failures": one.failures,
            "health": one.last_error,
        }
    ]


def test_hosts_are_chosen_that_are_parked_since_they_refuse(crawl: Crawl) -> None:
    parked = [one for one in crawl.hosts if crawl.state(one) == "parked"]
    reasons = ["challenge", "timeout", "blocked", "legal"]
    told = {one.key: reason for one, reason in zip(parked, reasons, strict=False)}
    crawl.hosts = [one._replace(last_error=told.get(one.key, "challenge")) for one in crawl.hosts]
    index = HostIndex(crawl.read, clock=lambda: NOW, cpu_share=1e9)
    try:
        index.refresh()
        page = index.page(state="refusing", limit=500)
        found = {row["key"] for row in page["rows"]}
    finally:
        index.close()
    # A page that is not available for legal reasons says nothing of its host.
    assert found == {one.key for one in parked if told.get(one.key) not in ("timeout", "legal")}
    assert page["total"] == len(found) > 2


def test_what_changed_and_what_was_added_is_there_after_the_next_pass(index: HostIndex, crawl: Crawl) -> None:
    crawl.hosts[7] = crawl.hosts[7]._replace(queued=1_000_000)
    crawl.hosts.append(crawl.host(5000)._replace(key="added.example", queued=2_000_000))
    assert index.page(search="added")["total"] == 0
    index.refresh()
    assert [row["key"] for row in index.page(limit=2)["rows"]] == ["added.example", crawl.hosts[7].key]
    assert index.page(search="added")["total"] == 1
    assert index.page()["total"] == 201


def test_a_name_that_is_no_text_is_shown_all_the_same(crawl: Crawl) -> None:
    crawl.hosts = [crawl.host(1)._replace(key="a\udc80.test")]
    index = HostIndex(crawl.read, clock=lambda: NOW)
    index.refresh()
    assert index.page()["rows"][0]["key"] == "a?.test"
    index.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sort": "id; DROP TABLE hosts"}, "allowed are host, state, queued"),
        ({"state": "gone"}, "allowed are active, ready, waiting"),
        ({"order": "up"}, "allowed are asc, desc"),
        ({"limit": 0}, "allowed are 1 to 500"),
        ({"limit": 501}, "allowed are 1 to 500"),
        ({"offset": -1}, "allowed are 0 to"),
        ({"search": "x" * 300}, "at most 253"),
        ({"search": "a\nb"}, "line break"),
    ],
)
def test_wrong_arguments_are_refused_with_what_is_allowed(
    index: HostIndex, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        index.page(**given)


def test_a_search_is_text_and_no_pattern(index: HostIndex) -> None:
    assert [index.page(search=text)["total"] for text in ("%", "_", "'", "site_")] == [0, 0, 0, 0]


def test_before_the_first_pass_there_is_nothing_and_a_reader_that_fails_says_why(crawl: Crawl) -> None:
    def failing() -> Iterator[list[HostSummary]]:
        raise JobdirUnusable("the crawl\nis away")
        yield []

    index = HostIndex(failing, clock=lambda: NOW)
    assert index.page() == {"total": 0, "as_of": None, "rows": []}
    index.begin()
    deadline = time.monotonic() + 30
    while index.unreadable is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert index.unreadable == "the crawl is away"
    index.close()
    index.close()


@pytest.mark.soak
def test_a_million_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    crawl = Crawl(1_000_000, seed=1)
    index = HostIndex(crawl.read, clock=lambda: NOW, cpu_share=1e9)
    index.refresh()
    seconds = []
    for search in ("", "e", "site99", "shop.site123456.", "zzz"):
        for state in ("", *STATES):
            for sort in SORTS:
                for order, offset in (("desc", 0), ("asc", 0), ("desc", 500_000)):
                    index._counts.clear()
                    began = time.perf_counter()
                    index.page(search=search, state=state, sort=sort, order=order, offset=offset)
                    seconds.append(time.perf_counter() - began)
    index.close()
    with capsys.disabled():
        print(
            f"a page of a million hosts: median {statistics.median(seconds) * 1e3:.0f} ms, "
            f"{min(seconds) * 1e3:.1f} to {max(seconds) * 1e3:.0f} ms ({len(seconds)} queries)"
        )
