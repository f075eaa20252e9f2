from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import NOW, entry, robots
from webcrawl.frontier.active_key import ActiveKey, Need, Pick
from webcrawl.frontier.order import LevelSampler, Order
from webcrawl.frontier.policies import Policies, RobotsPolicy
from webcrawl.frontier.records import Kind
from webcrawl.frontier.robots_requests import first_request
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.robots.rules import RulesCache
from webcrawl.storage.contract import HEAD, Activated, Loaded
from webcrawl.urls.schemes import WEB, Schemes

if TYPE_CHECKING:
    pass

BLOCKED_MAX = 3


def policies(**others: Any) -> Policies:
    return Policies(
        order=Order("breadth_first", None, NOW),
        sampler=LevelSampler(2.0),
        politeness=Politeness("fixed", 5.0, 60.0, 0.0, crawl_delay_max=300.0),
        health=Health(),
        robots=RobotsPolicy(agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
        get_key=lambda url: "a",
        **others,
    )


def active(
    *urls: str, known: list[RobotsRecord] | None = None, more: bool = False, **record: object
) -> ActiveKey:
    entries = [entry(url, key="a") for url in urls]
    host = HostRecord("a", delay_seconds=5.0)
    for name, value in record.items():
        setattr(host, name, value)
    return ActiveKey(Activated(host, Loaded(entries, more, known or [])), session_budget=16)


def pick(key: ActiveKey, now: float = NOW, **words: Any) -> Pick:
    return key.pick(now, policies(**words), BLOCKED_MAX)


def picked(key: ActiveKey, now: float = NOW, schemes: Schemes = WEB) -> str | None:
    rules = policies()
    taken = key.pick(now, replace(rules, robots=replace(rules.robots, schemes=schemes)), BLOCKED_MAX).entry
    return None if taken is None else taken.url


def no_robots(origin: str, state: RobotsState, expires_at: float = NOW + 60) -> RobotsRecord:
    return RobotsRecord(origin, state, NOW, expires_at)


def test_a_page_of_an_origin_without_an_answer_is_not_given_but_its_robots_txt() -> None:
    key = active("http://a/1")
    first = pick(key).entry
    assert first is not None
    assert (first.url, first.kind, first.key, first.via) == (
        "http://a/robots.txt",
        "robots",
        "a",
        "http://a/1",
    )
    assert key.has_work()


def test_each_origin_of_a_key_has_a_robots_txt_of_its_own() -> None:
    key = active("http://a/1", "https://a/1", "http://a:8080/1", known=[robots("http://a")])
    assert picked(key) == "http://a/1"
    assert picked(key) == "https://a/robots.txt"
    key.answered(robots("https://a"))
    assert picked(key) == "https://a/1"
    assert picked(key) == "http://a:8080/robots.txt"


def test_an_answer_that_is_too_old_is_asked_for_again() -> None:
    key = active("http://a/1", known=[robots("http://a", expires_at=NOW)])
    assert picked(key) == "http://a/robots.txt"


def test_urls_without_an_origin_need_no_robots_txt() -> None:
    entries = [entry("file:///a/1", key="file:")]
    key = ActiveKey(Activated(HostRecord("file:"), Loaded(entries, False, [])), session_budget=16)
    assert picked(key) == "file:///a/1"


def test_robots_txt_is_where_its_scheme_has_it() -> None:
    assert picked(active("ftp://a/1")) == "ftp://a/robots.txt"
    schemes = Schemes({"gopher": "/0/robots.txt", "finger": None})
    assert picked(active("gopher://a:70/1"), schemes=schemes) == "gopher://a:70/0/robots.txt"
    assert picked(active("finger://a/me"), schemes=schemes) == "finger://a/me"


def test_what_robots_txt_disallows_is_refused_and_what_follows_is_given() -> None:
    known = [robots("http://a", "User-agent: *\nDisallow: /x")]
    taken = pick(active("http://a/x1", "http://a/x2", "http://a/y", known=known))
    assert [(refused.url, rule) for refused, rule in taken.refused] == [
        ("http://a/x1", "robots"),
        ("http://a/x2", "robots"),
    ]
    assert taken.entry is not None
    assert taken.entry.url == "http://a/y"


def test_a_rule_of_scope_that_changed_refuses_what_is_queued_before_robots_txt_is_asked() -> None:
    key = active("http://a/1", known=[robots("http://a")])
    taken = pick(key, admit=lambda entry: "exclusion")
    assert (taken.entry, [rule for _, rule in taken.refused]) == (None, ["exclusion"])


def test_an_excluded_host_is_not_asked_for_its_robots_txt() -> None:
    taken = pick(active("http://a/1", "https://a/1"), admit=lambda entry: "exclusion")
    assert (taken.entry, taken.want) == (None, Need.NOTHING)
    assert [(entry.url, rule) for entry, rule in taken.refused] == [
        ("http://a/1", "exclusion"),
        ("https://a/1", "exclusion"),
    ]


def test_a_crawl_delay_beyond_the_limit_refuses_every_url() -> None:
    key = active("http://a/1", "http://a/2", known=[robots("http://a")], crawl_delay_seconds=301.0)
    taken = pick(key)
    assert (taken.entry, [rule for _, rule in taken.refused]) == (None, ["crawl-delay", "crawl-delay"])


@pytest.mark.parametrize(
    ("fetches", "refused"), [(9, []), (10, ["requests-per-key"]), (11, ["requests-per-key"])]
)
def test_of_a_key_that_was_fetched_from_so_often_the_rest_is_refused(
    fetches: int, refused: list[str]
) -> None:
    key = active("http://a/1", known=[robots("http://a")], fetches=fetches)
    taken = pick(key, requests_per_key_max=10)
    assert [rule for _, rule in taken.refused] == refused
    assert (taken.entry is None) == bool(refused)


@pytest.mark.parametrize(("pages", "refused"), [(9, []), (10, ["page-budget"]), (11, ["page-budget"])])
def test_of_a_key_that_gave_its_budget_of_pages_the_rest_is_refused_and_nothing_is_asked_any_more(
    pages: int, refused: list[str]
) -> None:
    key = active("http://a/1", pages=pages, fetches=99)
    taken = pick(key, page_budget=10)
    assert [rule for _, rule in taken.refused] == refused
    assert [taken.entry.kind if taken.entry else None] == (["robots"] if not refused else [None])


def test_a_page_that_is_visited_again_costs_nothing_of_the_budget() -> None:
    key = active("http://a/1", known=[no_robots("http://a", RobotsState.ALLOWED_ALL)], pages=10)
    key.head._entries[0].repeat = True
    assert pick(key, page_budget=10).entry is not None


@pytest.mark.parametrize("state", [RobotsState.UNREACHABLE, RobotsState.PENDING])
def test_urls_whose_robots_txt_cannot_be_had_are_held_back_and_others_given(state: RobotsState) -> None:
    key = active("http://a/1", "https://a/1", known=[no_robots("http://a", state), robots("https://a")])
    assert picked(key) == "https://a/1"
    assert key.blocked_until() == NOW + 60
    assert pick(key).want is Need.TIME
    assert key.has_work()


def test_held_back_urls_go_back_to_their_places_when_the_answer_comes() -> None:
    key = active(
        "http://a/1", "http://a/2", "https://a/3", known=[no_robots("http://a", RobotsState.PENDING)]
    )
    key.answered(robots("https://a"))
    assert picked(key) == "https://a/3"
    key.answered(robots("http://a"))
    assert [picked(key), picked(key), picked(key)] == ["http://a/1", "http://a/2", None]


def test_when_the_wait_for_robots_txt_is_over_it_is_asked_for_again() -> None:
    key = active("http://a/1", known=[no_robots("http://a", RobotsState.UNREACHABLE)])
    assert picked(key) is None
    assert picked(key, NOW + 59.9) is None
    assert picked(key, NOW + 60) == "http://a/robots.txt"


def test_a_key_that_holds_too_much_back_waits_instead_of_loading_on() -> None:
    blocked = [no_robots("http://a", RobotsState.UNREACHABLE)]
    few = active("http://a/1", "http://a/2", known=blocked, more=True)
    many = active("http://a/1", "http://a/2", "http://a/3", known=blocked, more=True)
    assert pick(few).want is Need.LOAD
    assert pick(many).want is Need.TIME


def test_an_empty_key_wants_what_follows_or_nothing() -> None:
    assert pick(active(more=True)).want is Need.LOAD
    assert pick(active()).want is Need.NOTHING
    assert active(more=True).has_work()
    assert not active().has_work()


def test_hops_of_robots_redirects_go_before_everything() -> None:
    key = active("http://a/1", known=[robots("http://a")])
    key.hops.append(first_request("http://b", "a", None))
    assert picked(key) == "http://b/robots.txt"
    assert picked(key) == "http://a/1"


def test_a_hop_that_was_queued_by_another_key_needs_no_robots_txt_itself() -> None:
    hop = entry("http://a/moved.txt", level=1 << 40, kind=Kind.ROBOTS, key="a")
    key = ActiveKey(Activated(HostRecord("a"), Loaded([hop], False, [])), session_budget=16)
    assert picked(key) == "http://a/moved.txt"


def test_a_new_url_of_a_known_origin_is_held_at_once() -> None:
    key = active(known=[robots("http://a")])
    key.offer(entry("http://a/new", key="a"))
    assert picked(key) == "http://a/new"


def test_a_new_url_of_an_unknown_origin_comes_with_its_answer_by_the_next_load() -> None:
    key = active(known=[robots("http://a")])
    new = entry("https://a/new", key="a")
    key.offer(new)
    assert pick(key).want is Need.LOAD
    key.loaded(Loaded([new], False, [robots("https://a")]))
    assert picked(key) == "https://a/new"


def test_a_loaded_answer_does_not_replace_a_newer_one() -> None:
    key = active("http://a/1", known=[robots("http://a", "User-agent: *\nDisallow: /")])
    key.loaded(Loaded([], False, [robots("http://a", "")]))
    assert picked(key) is None


def test_the_longest_crawl_delay_of_all_origins_holds() -> None:
    slow, slower = robots("http://a"), robots("https://a")
    slow.crawl_delay_seconds, slower.crawl_delay_seconds = 10.0, 20.0
    key = active(known=[slow, slower])
    assert key.record.crawl_delay_seconds == 20.0
    key.answered(robots("https://a"))
    assert key.record.crawl_delay_seconds == 10.0
    key.answered(robots("http://a"))
    assert key.record.crawl_delay_seconds is None


def test_a_crawl_delay_is_owed_from_the_last_request_on_and_once() -> None:
    slow = robots("http://a")
    slow.crawl_delay_seconds = 30.0
    key = active(known=[slow], next_fetch_at=NOW + 5, fetches=1)
    for _ in range(3):
        key.raise_delay(policies().politeness)
    assert (key.record.next_fetch_at, key.record.delay_seconds) == (NOW + 30, 30.0)


def test_a_key_that_was_never_asked_for_anything_owes_nothing() -> None:
    slow = robots("http://a")
    slow.crawl_delay_seconds = 30.0
    key = active(known=[slow], next_fetch_at=NOW)
    key.raise_delay(policies().politeness)
    assert key.record.next_fetch_at == NOW


def test_a_long_queue_is_given_in_its_order() -> None:
    urls = [f"http://a/{number}" for number in range(HEAD)]
    key = active(*urls, known=[robots("http://a")])
    assert [picked(key) for _ in urls] == urls


def test_a_robots_txt_that_takes_long_to_be_parsed_is_not_parsed_in_between() -> None:
    text = "User-agent: *\n" + "Disallow: /forbidden\n" * 1_000
    record = RobotsRecord("http://a.test", RobotsState.RULES, NOW, NOW + 60, text=text)
    key, rules = active("http://a.test/forbidden", "http://a.test/x", known=[record]), policies()

    asked = key.pick(NOW, rules, BLOCKED_MAX)
    assert (asked.entry, asked.want, asked.refused) == (None, Need.RULES, [])
    assert key.unread == (record, None)

    rules.robots.rules.hold(record, rules.robots.rules.parsed(record))
    taken = key.pick(NOW, rules, BLOCKED_MAX)
    assert taken.entry is not None
    assert taken.entry.url == "http://a.test/x"
    assert [rule for _, rule in taken.refused] == ["robots"]
