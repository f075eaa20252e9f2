"""The frontier as a whole, on a backend in memory: one promise a test."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW
from tests.properties.world import page
from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier.lease import FetchEnd, Result
from webcrawl.frontier.records import Kind, State, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.frontier.lease import Lease

    MakeCrawl = Callable[..., SmallCrawl]


@pytest.fixture
def make_crawl() -> Iterator[MakeCrawl]:
    made: list[SmallCrawl] = []

    def make(**words: object) -> SmallCrawl:
        made.append(SmallCrawl(**words))
        return made[-1]

    yield make
    for crawl in made:
        crawl.dispose()


@pytest.fixture
def crawl(make_crawl: MakeCrawl) -> SmallCrawl:
    return make_crawl()


# -- places ----------------------------------------------------------------------------------------------------


def test_a_host_whose_pages_take_long_to_be_read_leaves_places_to_others(make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(open_max=64)
    crawl.add(*(f"a.test/{number}" for number in range(10)))
    crawl.allow("a.test")
    unread = []
    for _ in range(4):
        unread.append(crawl.wait_for_lease())
        crawl.end(unread[-1])
    crawl.clock.now += 100
    assert crawl.lease() is None
    assert crawl.frontier.next_at() is None
    assert not crawl.is_finished()

    crawl.add("b.test/1")
    crawl.allow("b.test")
    assert crawl.wait_for_lease().entry.url == "http://b.test/1"
    crawl.settle(unread.pop())
    assert crawl.wait_for_lease().entry.key == "a.test"


# -- politeness ----------------------------------------------------------------------------------------------


def test_robots_txt_is_asked_for_before_the_first_page_of_an_origin(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"
    assert crawl.lease() is None


def test_the_next_request_to_a_key_waits_its_delay_from_the_end_of_the_response(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "www.a.test/2")
    crawl.allow("a.test")
    ended = crawl.clock.now
    crawl.clock.now = ended + DELAY - 0.001
    assert crawl.lease() is None
    crawl.clock.now = ended + DELAY
    assert crawl.lease() is not None


def test_a_key_has_one_open_request_and_others_are_not_held_up_by_it(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "www.a.test/1", "b.test/1")
    first, second = crawl.lease(), crawl.lease()
    assert first is not None
    assert second is not None
    assert {first.entry.key, second.entry.key} == {"a.test", "b.test"}
    assert crawl.lease() is None


def test_a_page_may_be_parsed_while_the_next_one_of_its_host_is_fetched(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    crawl.end(first := crawl.wait_for_lease())
    second = crawl.wait_for_lease()
    assert second.entry.url == "http://a.test/2"
    crawl.settle(first)
    crawl.fetch(second)
    assert crawl.is_finished()


def test_a_crawl_delay_holds_from_the_robots_txt_on_that_asked_for_it(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 90")
    ended = crawl.clock.now
    assert not crawl.is_finished()
    crawl.wait_for_lease()
    assert crawl.clock.now == ended + 90


def test_a_crawl_delay_longer_than_the_crawl_s_patience_is_waited_for(make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(patience_seconds=10.0)
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 200")
    assert not crawl.is_finished()
    assert crawl.wait_for_lease().entry.url == "http://a.test/1"


def test_a_crawl_delay_that_another_host_answered_holds_too(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://b.test/robots.txt")
    ended = crawl.clock.now
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 90")
    crawl.wait_for_lease()
    assert crawl.clock.now >= ended + 90


def test_a_crawl_delay_is_known_after_a_restart(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 90")
    ended = crawl.clock.now
    crawl.restart()
    crawl.wait_for_lease()
    assert crawl.clock.now >= ended + 90


def test_a_key_whose_request_is_open_at_the_end_rests_its_delay_after_the_restart(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    crawl.wait_for_lease()
    crawl.clock.now += 100
    crawl.restart()
    opened = crawl.clock.now
    crawl.wait_for_lease()
    assert crawl.clock.now == opened + DELAY


def test_retry_after_is_obeyed_and_the_url_is_tried_again(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease, 503, retry_after_seconds=100.0)
    ended = crawl.clock.now
    crawl.settle(lease, Result.RETRY)
    again = crawl.wait_for_lease()
    assert (again.entry.url, again.entry.attempts) == ("http://a.test/1", 1)
    assert crawl.clock.now == ended + 100


def record_of(crawl: SmallCrawl, lease: Lease) -> UrlRecord | None:
    return crawl.loop.run(crawl.backend.url_record(lease.entry.key, lease.entry.fingerprint))


@pytest.mark.parametrize(
    ("result", "status", "state", "rule"),
    [
        (Result.FETCHED, 200, State.DONE, None),
        (Result.FETCHED, 404, State.DONE, None),
        (Result.REDIRECTED, 301, State.DONE, None),
        (Result.FAILED, 302, State.FAILED, "redirects"),
        (Result.FAILED, None, State.FAILED, "dns"),
        (Result.REFUSED, None, State.REFUSED, "exclusions"),
        (Result.RETRY, 503, State.QUEUED, None),
        (Result.RETRY, None, State.QUEUED, None),
    ],
)
def test_the_status_of_the_response_is_stored_with_the_state(
    crawl: SmallCrawl, result: Result, status: int | None, state: State, rule: str | None
) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease, status, error=None if status else "dns")
    crawl.settle(lease, result, status, rule=rule)
    assert record_of(crawl, lease) == UrlRecord(state, rule, status)


def test_the_response_of_a_hub_is_none_of_the_url(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.fetch(lease, 200)
    crawl.add("a.test/1", kind=Kind.WEBSUB, repeat=True)
    crawl.fetch(crawl.wait_for_lease(), 202)
    assert record_of(crawl, lease) == UrlRecord(State.DONE, None, 200)


def test_nothing_sent_means_no_penalty(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.loop.call(crawl.frontier.ended, lease, FetchEnd(None, crawl.clock.now))
    crawl.settle(lease, Result.ABANDONED)
    again = crawl.lease()
    assert again is not None
    assert (again.entry.url, again.entry.attempts) == ("http://a.test/1", 0)


# -- robots.txt ----------------------------------------------------------------------------------------------


def test_disallowed_urls_are_refused_and_others_fetched(crawl: SmallCrawl) -> None:
    crawl.add("a.test/private/1", "a.test/public")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nDisallow: /private")
    lease = crawl.wait_for_lease()
    assert lease.entry.url == "http://a.test/public"
    crawl.fetch(lease)
    assert crawl.is_finished()
    assert crawl.frontier.tally.refused_by_rule == {"robots": 1}


def test_urls_of_an_origin_without_robots_wait_and_those_of_another_one_do_not(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "www.a.test/1")
    for _ in range(3):
        crawl.answer_robots(crawl.wait_for_lease(), 500)
    crawl.allow("www.a.test")
    crawl.answer_robots(crawl.wait_for_lease(), 500)
    lease = crawl.wait_for_lease()
    assert lease.entry.url == "http://www.a.test/1"
    crawl.fetch(lease)
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"


def test_a_robots_txt_that_another_host_answered_frees_its_urls_at_once(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://b.test/robots.txt")
    began = crawl.clock.now
    crawl.answer_robots(crawl.wait_for_lease())
    assert crawl.wait_for_lease().entry.url == "http://a.test/1"
    assert crawl.clock.now <= began + DELAY


def test_robots_redirects_on_the_same_host_are_followed_politely(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://www.a.test/robots.txt")
    ended = crawl.clock.now
    hop = crawl.wait_for_lease()
    assert (hop.entry.url, crawl.clock.now) == ("http://www.a.test/robots.txt", ended + DELAY)
    crawl.answer_robots(hop)
    assert crawl.wait_for_lease().entry.url == "http://a.test/1"


def test_robots_redirects_that_never_end_are_given_up(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    for _ in range(6):
        crawl.redirect_robots(crawl.wait_for_lease(), "http://a.test/robots.txt?again")
    lease = crawl.wait_for_lease()
    assert lease.entry.url == "http://a.test/robots.txt"
    assert crawl.clock.now >= NOW + 6 * DELAY


def test_a_known_robots_txt_is_not_asked_for_again_after_a_restart(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    crawl.restart()
    assert crawl.wait_for_lease().entry.url == "http://a.test/1"


def test_a_robots_txt_that_is_too_old_is_asked_for_again(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    crawl.fetch(crawl.wait_for_lease())
    crawl.clock.now += 86_400
    assert crawl.wait_for_lease().entry.url == "http://a.test/robots.txt"


# -- nothing twice, nothing lost -----------------------------------------------------------------------------


def test_a_url_whose_page_is_still_parsed_is_not_fetched_again(make_crawl: MakeCrawl) -> None:
    # No dry key is kept: the key goes back to the backend while its page is being parsed.
    crawl = make_crawl(dry_max=0)
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    crawl.end(lease)
    crawl.clock.now += 1000
    crawl.rest()
    assert crawl.lease() is None
    crawl.settle(lease)
    assert crawl.is_finished()


def test_a_parked_key_waits_active_until_its_pages_are_settled(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    crawl.end(slow := crawl.wait_for_lease())
    crawl.end(busy := crawl.wait_for_lease(), 503, retry_after_seconds=100.0)
    ended = crawl.clock.now
    crawl.settle(busy, Result.RETRY)
    crawl.settle(slow)
    assert crawl.wait_for_lease().entry.url == "http://a.test/2"
    assert crawl.clock.now == ended + 100


def test_a_parked_key_whose_page_is_parsed_for_ages_goes_on_without_giving_it_again(
    crawl: SmallCrawl,
) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    crawl.end(slow := crawl.wait_for_lease())
    crawl.end(busy := crawl.wait_for_lease(), 503, retry_after_seconds=100.0)
    crawl.settle(busy, Result.RETRY)
    crawl.clock.now += 1000
    assert crawl.lease() is None
    crawl.settle(slow)
    assert crawl.wait_for_lease().entry.url == "http://a.test/2"


def test_a_given_up_host_whose_page_is_still_parsed_keeps_its_books(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2", "a.test/3", "a.test/4")
    crawl.allow("a.test")
    crawl.end(slow := crawl.wait_for_lease())
    crawl.clock.now += DELAY
    while (lease := crawl.lease()) is not None:
        crawl.end(lease, None, error="timeout")
        crawl.settle(lease, Result.RETRY)
        crawl.clock.now += 10_000
    crawl.settle(slow)
    counts = crawl.loop.run(crawl.backend.read_counts())
    assert (counts.done, counts.queued + counts.failed) == (1, 3)


def test_links_are_queued_with_the_end_of_their_page(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    crawl.fetch(crawl.wait_for_lease(), discovered=[page("a.test", 1), page("a.test", 2)])
    assert crawl.wait_for_lease().entry.url == "http://a.test/2"


def test_urls_of_a_higher_level_overtake_those_that_are_held_in_memory(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(30)))
    crawl.allow("a.test")
    crawl.add("a.test/urgent", level=3)
    assert crawl.wait_for_lease().entry.url == "http://a.test/urgent"


def test_a_url_of_a_new_origin_and_a_higher_level_is_not_left_behind(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    crawl.add("www.a.test/urgent", level=3)
    urls = [crawl.wait_for_lease() for _ in range(1)]
    assert urls[0].entry.url == "http://www.a.test/robots.txt"
    crawl.answer_robots(urls[0])
    assert crawl.wait_for_lease().entry.url == "http://www.a.test/urgent"


def test_urls_that_are_held_back_are_not_given_twice_when_higher_levels_come_in(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(20)))
    crawl.answer_robots(crawl.wait_for_lease(), 500)
    crawl.add(*(f"www.a.test/{number}" for number in range(60)), level=2)
    fetched: list[str] = []
    while not crawl.is_finished():
        lease = crawl.wait_for_lease()
        if lease.entry.kind == "robots":
            crawl.answer_robots(lease)
        else:
            fetched.append(lease.entry.url)
            crawl.fetch(lease)
    assert len(fetched) == len(set(fetched)) == 80


# -- the crawl as a whole ------------------------------------------------------------------------------------


def test_a_crawl_without_urls_is_finished(crawl: SmallCrawl) -> None:
    assert crawl.is_finished()


def test_a_crawl_is_not_finished_while_anything_is_queued_open_or_on_its_way(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    assert not crawl.is_finished()
    crawl.allow("a.test")
    assert not crawl.is_finished()
    lease = crawl.wait_for_lease()
    assert not crawl.is_finished()
    crawl.end(lease)
    assert not crawl.is_finished()
    crawl.settle(lease)
    assert crawl.is_finished()


def test_a_crawl_of_more_keys_than_may_be_active_comes_to_its_end(make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(active_max=2, dry_max=1)
    crawl.add(*(f"{letter}.test/1" for letter in "abcdefgh"))
    fetched = []
    while not crawl.is_finished():
        lease = crawl.wait_for_lease()
        fetched.append(lease.entry.url)
        if lease.entry.kind == "robots":
            crawl.answer_robots(lease)
        else:
            crawl.fetch(lease)
    assert len(fetched) == 16


def test_no_more_is_open_or_not_durable_than_may_be(make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(open_max=2)
    crawl.add("a.test/1", "b.test/1", "c.test/1")
    first, second = crawl.lease(), crawl.lease()
    assert first is not None
    assert second is not None
    crawl.end(first, 404)
    assert crawl.lease() is None
    crawl.answer_robots(second)
    assert crawl.lease() is not None


def test_parked_hosts_are_waited_for_as_long_as_the_crawl_has_patience(make_crawl: MakeCrawl) -> None:
    for patience, finished in ((50.0, True), (200.0, False)):
        crawl = make_crawl(patience_seconds=patience)
        crawl.add("a.test/1")
        crawl.allow("a.test")
        lease = crawl.wait_for_lease()
        crawl.end(lease, 503, retry_after_seconds=100.0)
        crawl.settle(lease, Result.RETRY)
        assert crawl.is_finished() is finished


def test_a_full_disk_pauses_the_crawl_and_loses_nothing(
    make_crawl: MakeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.frontier.storage_retry.RETRY_SECONDS", 0.0)
    crawl = make_crawl(open_max=1)
    crawl.add("a.test/1", "b.test/1")
    lease = crawl.wait_for_lease()
    crawl.disk.archive_full = crawl.disk.state_full = True
    crawl.answer_robots(lease)
    assert crawl.frontier.snapshot().stalled == "disk full"
    assert crawl.lease() is None
    crawl.clock.now += 1000
    assert crawl.lease() is None
    assert not crawl.is_finished()
    crawl.disk.archive_full = crawl.disk.state_full = False
    crawl.rest()
    assert crawl.frontier.snapshot().stalled is None
    assert crawl.lease() is not None


def test_the_rules_of_today_are_asked_about_urls_that_were_queued_yesterday(make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(admit=lambda entry: "exclusion" if entry.url.endswith("1") else None)
    crawl.add("a.test/1", "a.test/2")
    crawl.allow("a.test")
    assert crawl.wait_for_lease().entry.url == "http://a.test/2"
    assert crawl.frontier.tally.refused_by_rule == {"exclusion": 1}


def test_a_host_that_asks_for_too_long_a_crawl_delay_is_not_crawled(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 301")
    crawl.clock.now += 1000
    crawl.lease()
    assert crawl.is_finished()
    assert crawl.frontier.tally.refused_by_rule == {"crawl-delay": 1}


def nothing_comes(crawl: SmallCrawl) -> bool:
    """Whether there is nothing to fetch now or later."""
    return all(crawl.lease() is None for _ in range(4)) and crawl.is_finished()


def test_urls_of_a_skipped_host_are_refused_at_once_and_its_other_origins_not_asked(
    crawl: SmallCrawl,
) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(50)), "www.a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 301")
    began = crawl.clock.now
    assert nothing_comes(crawl)
    assert crawl.clock.now == began
    assert crawl.frontier.tally.refused_by_rule == {"crawl-delay": 51}
    crawl.add("a.test/new")
    assert nothing_comes(crawl)
    assert crawl.frontier.tally.refused_by_rule == {"crawl-delay": 52}


def test_a_skipped_host_is_asked_for_another_ones_robots_txt_at_its_pace(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 301")
    ended = crawl.clock.now
    crawl.add("b.test/1", "a.test/2")
    crawl.redirect_robots(crawl.wait_for_lease(), "http://a.test/robots-of-b.txt")
    hop = crawl.wait_for_lease()
    assert (hop.entry.url, crawl.clock.now) == ("http://a.test/robots-of-b.txt", ended + 300)
    crawl.answer_robots(hop)
    assert crawl.wait_for_lease().entry.url == "http://b.test/1"


def test_a_host_is_not_skipped_for_ever(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 301")
    assert nothing_comes(crawl)
    crawl.clock.now += 86_400
    crawl.add("a.test/2")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\nCrawl-delay: 3")
    assert crawl.wait_for_lease().entry.url == "http://a.test/2"


def test_who_is_to_ask_again_is_told(crawl: SmallCrawl) -> None:
    assert crawl.lease() is None
    before = crawl.changes
    crawl.add("a.test/1")
    assert crawl.changes > before
    assert crawl.lease() is not None


def test_a_stopping_crawl_gives_nothing_out(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.loop.run(crawl.frontier.close())
    assert crawl.lease() is None
    assert crawl.frontier.is_finished()


def test_a_closed_crawl_has_no_active_hosts(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    crawl.fetch(crawl.wait_for_lease())
    crawl.rest()
    crawl.loop.run(crawl.frontier.close())
    assert crawl.frontier.snapshot().active_hosts == 0


def test_a_robots_txt_that_takes_long_to_be_parsed_is_parsed_beside_the_loop(crawl: SmallCrawl) -> None:
    crawl.add("a.test/private", "a.test/x")
    crawl.answer_robots(crawl.wait_for_lease(), 200, "User-agent: *\n" + "Disallow: /private\n" * 1_000)

    assert crawl.wait_for_lease().entry.url == "http://a.test/x"
    assert crawl.frontier.tally.refused_by_rule == {"robots": 1}
    assert not crawl.troubles


class Body:
    """Stands for the body of a response, of which the result of its URL has the account."""

    def archived(self) -> None:
        """Called when the body is not needed any more."""


def test_a_settled_url_leaves_no_cycle_of_objects_that_would_hold_its_body(crawl: SmallCrawl) -> None:
    crawl.add("a.test/1")
    crawl.allow("a.test")
    lease, body = crawl.wait_for_lease(), Body()
    held = weakref.ref(body)
    gc.collect()
    gc.disable()
    try:
        crawl.fetch(lease, archived=body.archived)
        del body, lease
        assert held() is None
    finally:
        gc.enable()
