"""Inline requests: they come before their key's queue, under its clock, and never wait for what waits for them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.contract.samples import NOW
from tests.properties.world import page
from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier.inline import (
    HELD_SECONDS,
    HOST_UNAVAILABLE,
    IN_A_ROW,
    ROBOTS_UNAVAILABLE,
    STOPPED,
    InlineRequest,
    TurnedAwayError,
)
from webcrawl.frontier.lease import Result
from webcrawl.frontier.queue_head import REQUESTED
from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import Activated, HeartbeatAnswer, Unavailable

if TYPE_CHECKING:
    from webcrawl.frontier.lease import Lease


def ask(crawl: SmallCrawl, *urls: str) -> list[InlineRequest]:
    """Add inline requests, given as ``host/path``."""

    def add() -> list[InlineRequest]:
        requests = []
        for url in urls:
            entry = page(*url.split("/", 1))
            entry.kind, entry.repeat = Kind.INLINE, True
            requests.append(InlineRequest(entry))
            crawl.frontier.add_inline(requests[-1])
        return requests

    requests = crawl.loop.call(add)
    crawl.rest()
    return requests


def lease(crawl: SmallCrawl) -> Lease | None:
    return crawl.loop.call(crawl.frontier.next_inline)


def wait_for_lease(crawl: SmallCrawl) -> Lease:
    """Return the next inline lease; the clock moves on to it."""
    if (leased := lease(crawl)) is None:
        at = crawl.frontier.next_inline_at()
        assert at is not None, "no inline request will ever come"
        crawl.clock.now = max(crawl.clock.now, at)
        leased = lease(crawl)
        assert leased is not None
    return leased


def answer(crawl: SmallCrawl, found: Lease, status: int = 200) -> None:
    """Let a fetch of an inline request or of its robots.txt end, and be processed."""
    if found.entry.kind == Kind.ROBOTS:
        crawl.answer_robots(found, 404)
        return
    assert found.inline is not None
    found.inline.answer.set_result(status)
    crawl.fetch(found, status)


def told(request: InlineRequest) -> tuple[str, bool]:
    error = request.answer.exception()
    assert isinstance(error, TurnedAwayError)
    return error.rule, error.is_refusal


def known(crawl: SmallCrawl, host: str) -> None:
    """Let a page of a host be fetched and settled, so that its robots.txt is known."""
    crawl.add(f"{host}/known")
    crawl.allow(host)
    crawl.fetch(crawl.wait_for_lease())


def test_a_key_that_nobody_knows_is_asked_for_its_robots_txt_first(crawl: SmallCrawl) -> None:
    [request] = ask(crawl, "a.test/1")
    first = wait_for_lease(crawl)
    assert first.entry.url == "http://a.test/robots.txt"
    assert lease(crawl) is None
    answer(crawl, first)
    assert lease(crawl) is None
    second = wait_for_lease(crawl)
    assert crawl.clock.now == NOW + DELAY
    assert second.inline is request
    answer(crawl, second)
    assert crawl.is_finished()
    assert crawl.frontier.tally.inline == 1
    assert crawl.loop.run(crawl.backend.read_counts()).queued == 0
    assert crawl.loop.run(crawl.backend.url_record("a.test", request.entry.fingerprint)) is None


def test_pages_that_fill_all_places_get_what_they_wait_for() -> None:
    small = SmallCrawl(open_max=2)
    try:
        small.add(*(f"a.test/{number}" for number in range(5)))
        small.allow("a.test")
        pages = [small.wait_for_lease()]
        small.end(pages[0])
        pages.append(small.wait_for_lease())
        small.end(pages[1])
        small.clock.now += DELAY
        assert small.lease() is None
        requests = ask(small, "a.test/one", "a.test/two")
        for request in requests:
            leased = wait_for_lease(small)
            assert leased.inline is request
            answer(small, leased)
        for one in pages:
            small.settle(one)
        assert small.wait_for_lease().entry.url == "http://a.test/2"
    finally:
        small.dispose()


def test_a_host_whose_pages_are_all_unprocessed_gives_inline_requests(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(30)))
    crawl.allow("a.test")
    for _ in range(crawl.limits.unprocessed_max):
        crawl.end(crawl.wait_for_lease())
    crawl.clock.now += DELAY
    assert crawl.lease() is None
    [request] = ask(crawl, "a.test/file")
    assert wait_for_lease(crawl).inline is request


def test_the_clock_of_the_key_is_kept_between_pages_and_inline_requests(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    crawl.add("a.test/page")
    ask(crawl, "a.test/one", "a.test/two")
    assert crawl.lease() is None
    times = []
    for _ in range(2):
        leased = wait_for_lease(crawl)
        assert crawl.lease() is None
        times.append(crawl.clock.now)
        answer(crawl, leased)
    leased = crawl.wait_for_lease()
    assert (leased.inline, leased.entry.url) == (None, "http://a.test/page")
    times.append(crawl.clock.now)
    assert [later - earlier for earlier, later in pairwise(times)] == [DELAY, DELAY]


def test_a_page_has_its_turn_after_so_many_inline_requests(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    crawl.add("a.test/page")
    ask(crawl, *(f"a.test/file{number}" for number in range(IN_A_ROW + 3)))
    for _ in range(IN_A_ROW):
        answer(crawl, wait_for_lease(crawl))
    crawl.clock.now += DELAY
    leased = crawl.lease()
    assert leased is not None
    assert leased.entry.url == "http://a.test/page"
    crawl.fetch(leased)
    for _ in range(3):
        answer(crawl, wait_for_lease(crawl))
    assert crawl.is_finished()


def test_a_page_s_turn_goes_to_an_inline_request_if_no_place_is_free() -> None:
    small = SmallCrawl(open_max=1)
    try:
        known(small, "a.test")
        small.add("a.test/first", "a.test/second")
        first = small.wait_for_lease()
        small.end(first)
        ask(small, *(f"a.test/file{number}" for number in range(IN_A_ROW + 3)))
        for _ in range(IN_A_ROW + 3):
            small.clock.now += DELAY
            assert small.lease() is None
            answer(small, wait_for_lease(small))
        small.settle(first)
        assert small.wait_for_lease().entry.url == "http://a.test/second"
    finally:
        small.dispose()


def test_no_more_are_open_than_urls_of_the_queues() -> None:
    small = SmallCrawl(open_max=2)
    try:
        ask(small, "a.test/1", "b.test/1", "c.test/1")
        first, second = wait_for_lease(small), wait_for_lease(small)
        assert lease(small) is None
        answer(small, first)
        assert wait_for_lease(small).entry.key not in (first.entry.key, second.entry.key)
    finally:
        small.dispose()


def test_what_robots_txt_forbids_is_refused_and_counted(crawl: SmallCrawl) -> None:
    forbidden, allowed = ask(crawl, "a.test/private/1", "a.test/1")
    crawl.answer_robots(wait_for_lease(crawl), 200, "User-agent: *\nDisallow: /private/\n")
    assert wait_for_lease(crawl).inline is allowed
    assert told(forbidden) == ("robots", True)
    assert crawl.frontier.tally.refused_by_rule["robots"] == 1


def test_what_the_scope_refuses_when_its_turn_comes_is_refused() -> None:
    small = SmallCrawl(admit=lambda entry: "excluded" if "no" in entry.url else None)
    try:
        [request] = ask(small, "a.test/no")
        assert lease(small) is None
        assert told(request) == ("excluded", True)
        assert small.is_finished()
    finally:
        small.dispose()


def test_an_origin_whose_robots_txt_cannot_be_had_fails(crawl: SmallCrawl) -> None:
    first, second = ask(crawl, "a.test/1", "a.test/2")
    for _ in range(3):
        crawl.answer_robots(wait_for_lease(crawl), 500)
    crawl.clock.now += DELAY
    assert lease(crawl) is None
    assert told(first) == told(second) == (ROBOTS_UNAVAILABLE, False)
    assert crawl.is_finished()


def test_a_robots_txt_that_redirects_to_another_host_is_waited_for(crawl: SmallCrawl) -> None:
    [request] = ask(crawl, "a.test/1")
    crawl.redirect_robots(wait_for_lease(crawl), "http://b.test/robots.txt")
    crawl.clock.now += DELAY
    assert lease(crawl) is None
    assert not crawl.is_finished()
    crawl.answer_robots(crawl.wait_for_lease(), 404)
    assert wait_for_lease(crawl).inline is request


def test_a_host_that_is_to_be_left_alone_for_long_fails(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    [first] = ask(crawl, "a.test/1")
    leased = wait_for_lease(crawl)
    assert leased.inline is first
    crawl.end(leased, 429, retry_after_seconds=3600.0)
    crawl.settle(leased, Result.RETRY, 429)
    [second] = ask(crawl, "a.test/2")
    assert told(second) == (HOST_UNAVAILABLE, False)
    assert crawl.frontier.tally.retries == 1


def test_one_whose_caller_went_away_is_not_sent(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    gone, waiting = ask(crawl, "a.test/gone", "a.test/waiting")
    crawl.loop.call(gone.answer.cancel)
    assert wait_for_lease(crawl).inline is waiting


def test_one_whose_key_is_idle_has_it_made_active_and_its_queue_goes_on() -> None:
    small = SmallCrawl(active_max=1)
    try:
        small.add("a.test/1", "a.test/2")
        small.add("b.test/1")
        known_lease = small.lease()
        assert known_lease is not None
        other = "b.test" if known_lease.entry.key == "a.test" else "a.test"
        [request] = ask(small, f"{other}/file")
        leased = wait_for_lease(small)
        assert leased.entry.url == f"http://{other}/robots.txt"
        answer(small, leased)
        leased = wait_for_lease(small)
        assert leased.inline is request
        answer(small, leased)
        small.answer_robots(known_lease)
        for _ in range(3):
            small.fetch(small.wait_for_lease())
        assert small.is_finished()
    finally:
        small.dispose()


def test_those_that_wait_at_the_end_are_turned_away(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    first, second = ask(crawl, "a.test/1", "b.test/1")
    crawl.loop.call(crawl.frontier.end_inline)
    assert told(first) == told(second) == (STOPPED, False)
    [late] = ask(crawl, "a.test/2")
    assert told(late) == (STOPPED, False)
    assert lease(crawl) is None
    crawl.loop.run(crawl.frontier.close())


def test_a_key_that_another_process_requests_is_released_after_so_many(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    crawl.add("a.test/page")
    requests = ask(crawl, *(f"a.test/file{number}" for number in range(IN_A_ROW + 1)))
    crawl.loop.call(crawl.frontier._on_heartbeat, HeartbeatAnswer(changed_queues={"a.test": REQUESTED}))
    for _ in range(IN_A_ROW):
        assert crawl.lease() is None
        answer(crawl, wait_for_lease(crawl))
    # It is released; here nobody else takes it, and it is acquired again for the request that is left.
    crawl.rest()
    leased = wait_for_lease(crawl)
    assert leased.inline is requests[-1]
    answer(crawl, leased)
    assert crawl.wait_for_lease().entry.url == "http://a.test/page"


def test_a_key_that_is_lost_gives_its_requests_when_it_is_held_again(crawl: SmallCrawl) -> None:
    known(crawl, "a.test")
    [request] = ask(crawl, "a.test/1")
    crawl.loop.run(crawl.backend.release_keys([crawl.frontier._keys.get("a.test").record]))
    crawl.loop.call(crawl.frontier._on_heartbeat, HeartbeatAnswer(lost=["a.test"]))
    crawl.rest()
    assert wait_for_lease(crawl).inline is request


def test_a_requested_key_is_let_go_after_a_while_though_its_pages_are_not_settled(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    unsettled = crawl.wait_for_lease()
    crawl.end(unsettled)

    def request() -> None:
        crawl.loop.call(crawl.frontier._on_heartbeat, HeartbeatAnswer(changed_queues={"a.test": REQUESTED}))
        crawl.rest()

    request()
    assert crawl.loop.run(crawl.backend.acquire_key("a.test", NOW)) is Unavailable.HELD
    crawl.clock.now += HELD_SECONDS
    request()
    acquired = crawl.loop.run(crawl.backend.acquire_key("a.test", NOW))
    assert isinstance(acquired, Activated)
    assert acquired.record.next_fetch_at >= NOW + DELAY
    crawl.loop.run(crawl.backend.release_keys([acquired.record]))

    # Held again, it does not give the page that is still being processed here.
    crawl.loop.call(crawl.frontier.forget_idle_times)
    other = crawl.wait_for_lease()
    assert other.entry.url == "http://a.test/2"
    crawl.fetch(other)
    crawl.settle(unsettled)
    assert crawl.is_finished()
    assert crawl.loop.run(crawl.backend.read_counts()).done == 2
