"""The conclusion: what has become of a URL, or will, by everything that is known of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.explain.account import (
    Difference,
    ExaminedCrawl,
    Explanation,
    Fate,
    RulesForUrls,
    explain,
    explain_address,
)
from webcrawl.explain.as_json import as_json
from webcrawl.explain.as_text import as_text, moment
from webcrawl.explain.features import Remembered, explain_worth
from webcrawl.explain.logged_fetches import LoggedFetches
from webcrawl.explain.rules import RuleStage
from webcrawl.features.focus.learner import BELIEVED, Learner
from webcrawl.features.focus.link_features import pack
from webcrawl.features.focus.weights import probability
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage
from webcrawl.frontier.active_key import ActiveKey
from webcrawl.frontier.order import LevelSampler, Order
from webcrawl.frontier.policies import Policies, RobotsPolicy
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.robots.rules import RulesCache
from webcrawl.scope.scope import Scope
from webcrawl.scope.url_rules import AllowRule, DepthRule, SchemeRule
from webcrawl.storage.contract import Activated, Loaded
from webcrawl.storage.inspection import Activity, Demand, KeySnapshot, UrlSnapshot

NOW = 1_700_000_000.0
FIXED = Scope([SchemeRule()])
POLITE = Politeness("fixed", 5.0, 60.0, 1.0, 300.0)
RULES = RulesForUrls(Scope([*FIXED.rules, DepthRule(3), AllowRule("/a")]), FIXED, POLITE, "foobot")
CRAWL = ExaminedCrawl("sqlite", "/crawl", "the crawl in /crawl")
URL = "http://h.test/a"
TEXT = "User-agent: *\nDisallow: /a\x1b[31m # red\n"


def entry(**fields: Any) -> UrlEntry:
    return UrlEntry(URL, "h.test", 1, **{"via": "http://h.test/", "depth": 1, **fields})


def robots(text: str = "", expires_at: float = NOW + 1000) -> RobotsRecord:
    return RobotsRecord("http://h.test", RobotsState.RULES, NOW - 10, expires_at, text)


def seen(**fields: Any) -> UrlSnapshot:
    """A snapshot of a queued URL whose time comes in two seconds."""
    record = HostRecord("h.test", NOW + 2, 5.0, fetches=1)
    key = KeySnapshot(record, 4, Activity.IDLE)
    usual = UrlSnapshot(NOW, True, QUEUED, entry(), 3, key, robots(), running_workers=("process 1",))
    return replace(usual, **fields)


def settled(state: State | None, rule: str | None = None, **fields: Any) -> UrlSnapshot:
    record = None if state is None else UrlRecord(state, rule)
    return seen(record=record, entry=None, before=0, **fields)


def explained(
    snapshot: UrlSnapshot | None = None, url: str = URL, rules: RulesForUrls = RULES, **more: Any
) -> Explanation:
    return explain(explain_address(url, url), "h.test", rules, NOW, snapshot=snapshot, **more)


def test_a_url_that_nobody_knows_is_queued_or_refused_when_it_is_found() -> None:
    unknown = UrlSnapshot(NOW, False, None, None, 0, None, None)
    for snapshot in (None, unknown):
        assert explained(snapshot).conclusion.fate is Fate.WOULD_BE_QUEUED
        refused = explained(snapshot, "http://h.test/b").conclusion
        assert (refused.fate, refused.rule) == (Fate.WOULD_BE_REFUSED, "allow")


def test_a_seed_need_not_match_what_links_must() -> None:
    explanation = explained(url="http://h.test/b", named=True)
    assert (explanation.scoping.stage, explanation.conclusion.fate) == (RuleStage.SEED, Fate.WOULD_BE_QUEUED)
    assert [word.applies for word in explanation.scoping.words] == [True, False, False]


@each_row(
    ("state", "fate"),
    [
        (State.DONE, Fate.DONE),
        (State.FAILED, Fate.FAILED),
        (State.REFUSED, Fate.REFUSED),
        (None, Fate.SETTLED),
    ],
)
def test_what_is_over_stays_so_whatever_the_rules_say_now(state: State | None, fate: Fate) -> None:
    conclusion = explained(settled(state, rule="why"), "http://h.test/b").conclusion
    assert (conclusion.fate, conclusion.rule) == (fate, None if state is None else "why")


def test_a_queued_url_waits_for_its_clock_and_for_those_before_it() -> None:
    explanation = explained(seen())
    assert explanation.conclusion.fate is Fate.WAITS
    assert explanation.waiting is not None
    assert explanation.waiting.earliest_at == NOW + 2
    assert explanation.conclusion.turn_at == NOW + 2 + 3 * 5
    assert explanation.conclusion.leased is False


def test_of_an_active_key_only_its_holder_knows_what_is_leased() -> None:
    held = KeySnapshot(HostRecord("h.test"), 4, Activity.ACTIVE, "process 1")
    assert explained(seen(key=held)).conclusion.leased is None
    # It is how a killed process left it, or the lease has ended.
    for key in (replace(held, holder=None), replace(held, held_until=NOW - 1)):
        assert explained(seen(key=key)).conclusion.leased is False


def test_a_queued_url_may_be_refused_at_its_turn() -> None:
    asks = HostRecord("h.test", crawl_delay_seconds=4000.0)
    cases = {
        "robots": seen(robots=robots(TEXT.replace("\x1b", ""))),
        "crawl-delay": seen(key=KeySnapshot(asks, 4, Activity.IDLE)),
    }
    text = "User-agent: *\nDisallow: /a\n"
    cases["robots"] = seen(robots=robots(text))
    for rule, snapshot in cases.items():
        conclusion = explained(snapshot).conclusion
        assert (conclusion.fate, conclusion.rule) == (Fate.WILL_BE_REFUSED, rule)
    # A robots.txt that holds no more is asked for again before it refuses anything.
    assert explained(seen(robots=robots(text, NOW - 1))).conclusion.fate is Fate.WAITS
    # Rules for links are asked once, those for all are asked again at the turn.
    assert explained(seen(), rules=replace(RULES, followed=Scope([AllowRule("/b")]))).conclusion.rule is None
    fixed = Scope([AllowRule("/b")])
    assert explained(seen(), rules=replace(RULES, fixed=fixed)).conclusion.rule == "allow"


@given(
    fetches=st.sampled_from([0, 3, 9]),
    most=st.sampled_from([0, 5]),
    budget=st.sampled_from([0, 2]),
    again=st.booleans(),
    asked=st.sampled_from([None, 2.0, 4000.0]),
    state=st.sampled_from([None, *RobotsState]),
    text=st.sampled_from(["", "User-agent: *\nDisallow: /a", "User-agent: *\nAllow: /a\nDisallow: /"]),
    expires_at=st.sampled_from([NOW - 1, NOW + 60]),
    admitted=st.booleans(),
)
def test_the_frontier_refuses_what_is_said_to_be_refused_and_nothing_else(
    fetches: int,
    most: int,
    budget: int,
    again: bool,
    asked: float | None,
    state: RobotsState | None,
    text: str,
    expires_at: float,
    admitted: bool,
) -> None:
    known = None if state is None else RobotsRecord("http://h.test", state, NOW - 10, expires_at, text)
    record = HostRecord("h.test", fetches=fetches, pages=fetches // 3, crawl_delay_seconds=asked)
    fixed = Scope([] if admitted else [AllowRule("/b")])
    rules = RulesForUrls(Scope([]), fixed, POLITE, "foobot", most, budget)
    conclusion = explained(
        seen(robots=known, key=KeySnapshot(record, 1, Activity.IDLE)), rules=rules
    ).conclusion

    policies = Policies(
        order=Order("breadth_first", None, NOW),
        sampler=LevelSampler(2.0),
        politeness=POLITE,
        health=Health(),
        robots=RobotsPolicy(agents=("foobot",), rules=RulesCache(10, "foobot")),
        get_key=lambda url: "h.test",
        admit=lambda entry: None if admitted else "allow",
        requests_per_key_max=most,
        page_budget=budget,
    )
    records = [] if known is None else [known]
    key = ActiveKey(Activated(replace(record), Loaded([entry()], False, records)), session_budget=16)
    pick = key.pick(NOW, policies, 10)
    if pick.entry is not None and pick.entry.kind == Kind.ROBOTS:
        # It takes the turn of the URL, and forbids nothing here.
        key.answered(RobotsRecord("http://h.test", RobotsState.ALLOWED_ALL, NOW, NOW + 60))
        pick = key.pick(NOW, policies, 10)
    assert [rule for _, rule in pick.refused] == (
        [conclusion.rule] if conclusion.fate is Fate.WILL_BE_REFUSED else []
    )
    assert conclusion.fate in (Fate.WILL_BE_REFUSED, Fate.WAITS)


def test_the_urls_of_a_key_that_is_given_up_are_kept() -> None:
    record = HostRecord("h.test", given_up=True, failures=9, last_error="dns")
    explanation = explained(seen(key=KeySnapshot(record, 4, Activity.GIVEN_UP)))
    assert explanation.conclusion.fate is Fate.KEPT


def test_a_robots_txt_has_no_state_of_its_own() -> None:
    assert explained(url="http://h.test/robots.txt").conclusion.fate is Fate.ROBOTS


def test_depth_and_kind_come_from_the_queue_or_the_log() -> None:
    deep = explained(settled(State.DONE), visits=LoggedFetches(1, ({"depth": 4, "via": "http://h.test/"},)))
    assert (deep.scoping.depth, deep.scoping.depth_known) == (4, True)
    assert deep.scoping.decided_by is not None
    assert deep.scoping.decided_by.rule == "depth"
    assert explained(visits=LoggedFetches(1, ({"depth": 0, "via": None},))).scoping.stage is RuleStage.SEED
    sitemap = explained(seen(entry=entry(kind="sitemap", via="http://h.test/robots.txt")), "http://h.test/b")
    assert (sitemap.scoping.stage, sitemap.scoping.decided_by) == (RuleStage.SITEMAP, None)
    assert explained(depth=9).scoping.depth == 9
    assert not explained().scoping.depth_known


# -- telling -------------------------------------------------------------------------------------------------


def test_the_text_says_when_and_behind_how_many() -> None:
    output = as_text(explained(seen()), CRAWL)
    assert output.splitlines()[:2] == [
        URL,
        f"  queued; may be fetched {moment(NOW + 2, NOW)}, by politeness; "
        f"behind 3 URLs, so about {moment(NOW + 17, NOW)}",
    ]
    assert "the crawl in /crawl" in output
    assert moment(NOW + 2, NOW).endswith(" (in 2.0 s)")
    assert moment(NOW - 200, NOW).endswith(" (3 min 20 s ago)")


def test_a_guess_is_shown_with_what_made_it() -> None:
    learner = Learner()
    queued = entry(link_features=pack("550100", "Telescopes", "see also"))
    explanation = replace(explained(seen(entry=queued)), worth=explain_worth(learner, URL, queued))
    assert explanation.worth is not None
    guess = explanation.worth.guess
    text = as_text(explanation, CRAWL)
    assert f"{guess.worth:.3f}, level {guess.level}\n" in text
    assert f"{BELIEVED['promise 1']:+.2f}" in text
    assert "its words name the subject" in text
    fields = json.loads(as_json(explanation, CRAWL))["focus"]
    assert fields["worth"] == probability(fields["bias"] + sum(fields["features"].values()))
    alone = replace(explanation, worth=explain_worth(learner, URL, None))
    assert ", by its URL alone\n" in as_text(alone, CRAWL)


def test_a_hostile_robots_txt_cannot_steer_the_terminal() -> None:
    output = as_text(explained(seen(robots=robots(TEXT)), "http://h.test/a%1B[31m"), CRAWL)
    assert "\x1b" not in output
    assert "Disallow: /a\\x1b[31m # red" in output


def test_nor_can_a_url_as_it_was_written() -> None:
    address = explain_address("http://h.test/\x1b[31m\n\u202e", "http://h.test/%1B[31m%E2%80%AE")
    output = as_text(explain(address, "h.test", RULES, NOW), CRAWL)
    assert all(character.isprintable() or character == "\n" for character in output)
    assert "http://h.test/\\x1b[31m\\n\\u202e" in output


def test_a_robots_txt_that_cannot_be_had_says_since_when_and_when_it_is_asked_for_again() -> None:
    away = RobotsRecord("http://h.test", RobotsState.UNREACHABLE, NOW - 10, NOW + 50, attempts=1)
    lines = as_text(explained(seen(robots=away)), CRAWL).splitlines()
    rows = {line[:13].strip(): line[13:].strip() for line in lines if line.startswith("  ")}
    assert rows["since"] == moment(NOW - 10, NOW)
    assert rows["retried"] == moment(NOW + 50, NOW)
    assert rows["failed"] == "1 time in a row"


def test_a_crawl_at_which_nobody_works_fetches_nothing() -> None:
    when = f"may be fetched {moment(NOW + 2, NOW)}, by politeness; behind 3 URLs"
    for snapshot, why in (
        (seen(running_workers=()), "no worker is running"),
        (seen(demand=Demand.PAUSE), "the crawl is to pause"),
    ):
        assert as_text(explained(snapshot), CRAWL).splitlines()[1] == f"  queued; {why}; {when}"
    rested = seen(key=KeySnapshot(HostRecord("h.test"), 4, Activity.IDLE), running_workers=(), before=0)
    line = as_text(explained(rested), CRAWL).splitlines()[1]
    assert line == "  queued; no worker is running; its time has come"


@each_row(
    ("record", "state"),
    [
        (UrlRecord(State.DONE, None, 301), "done, status 301"),
        (UrlRecord(State.FAILED, "redirects", 302), "failed (redirects), status 302"),
        (UrlRecord(State.FAILED, "dns"), "failed (dns)"),
        (UrlRecord(State.QUEUED, None, 503), "queued, status 503"),
    ],
)
def test_the_stored_record_is_shown(record: UrlRecord, state: str) -> None:
    explanation = explained(seen(record=record))
    [shown] = [
        line
        for line in as_text(explanation, CRAWL).partition("\nfrontier\n")[2].splitlines()
        if line.startswith("  state ")
    ]
    assert shown.removeprefix("  state ").strip() == state
    fields = json.loads(as_json(explanation, CRAWL))["frontier"]
    assert (fields["state"], fields["rule"], fields["status"]) == (
        record.state.name.lower(),
        record.rule,
        record.status,
    )
    unknown = json.loads(as_json(explained(settled(None)), CRAWL))["frontier"]
    assert (unknown["state"], unknown["rule"], unknown["status"]) == (None, None, None)


@each_row(
    "snapshot",
    [
        None,
        seen(),
        settled(State.DONE),
        settled(None, key=None, robots=None),
        seen(robots=robots(TEXT), rules_kept=False, demand=Demand.RUN),
        seen(
            key=KeySnapshot(
                HostRecord("h.test", failures=2, last_error="dns", parked=True, blocked_until=NOW + 9),
                4,
                Activity.ACTIVE,
                "w1",
                NOW + 60,
            )
        ),
    ],
)
def test_text_and_object_are_made_of_everything(snapshot: UrlSnapshot | None) -> None:
    visits = LoggedFetches(
        9, ({"status": 200, "end": NOW - 5, "kind": "page", "bytes": 12, "mime": "text/html"}, {})
    )
    crawl = ExaminedCrawl("redis", "h:1", "broad", None, (Difference("DEPTH_LIMIT", "3", "0"),))
    explanation = explained(snapshot, visits=visits)
    assert URL in as_text(explanation, crawl)
    fields = json.loads(as_json(explanation, crawl))
    assert sorted(fields) == sorted(
        [
            "version",
            "now",
            "crawl",
            "url",
            "scope",
            "robots",
            "frontier",
            "found",
            "key",
            "clocks",
            "visits",
            "focus",
            "usage",
            "log",
            "conclusion",
        ]
    )
    assert fields["log"]["count"] == 9
    assert (fields["frontier"] is None) == (snapshot is None)


def test_what_is_remembered_of_a_page_is_shown_with_its_next_visit() -> None:
    history = History.first(NOW - 900).visited(NOW - 300, changed=True)
    page = RevisitedPage(
        "h.test", 1, URL, history, NOW + 60, b"\x01", NOW - 300, 'W/"1\n"', "then", gone=2, failed=1
    )
    explanation = explained(settled(State.DONE), remembered=Remembered(page, "each page is"))
    text = as_text(explanation, ExaminedCrawl("sqlite", "job", "the crawl"))
    assert "fetched; visited again" in text.splitlines()[1]
    shown = dict(line.strip().split("  ", 1) for line in text.partition("\nvisits\n")[2].splitlines())
    assert shown["ETag"].strip() == 'W/"1\\n"', "whoever sent it must not steer the terminal"
    assert "1 change found" in shown["visits"]
    assert shown["because"].strip() == "each page is"
    fields = json.loads(as_json(explanation, ExaminedCrawl("sqlite", "job", "the crawl")))["visits"]
    assert fields == {
        "visits": 2,
        "changes": 1,
        "first_at": NOW - 900,
        "last_at": NOW - 300,
        "changed_at": NOW - 300,
        "etag": 'W/"1\n"',
        "last_modified": "then",
        "digest": "01",
        "gone": 2,
        "failed": 1,
        "next_visit_at": NOW + 60,
        "why": "each page is",
        "fresh_seconds": None,
        "is_held_back": False,
    }
