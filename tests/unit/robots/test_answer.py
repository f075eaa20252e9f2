"""What a fetch of robots.txt means for the pages of its origin."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots import answer
from webcrawl.robots.answer import Absence, RobotsRules, RobotsState, RobotsVerdict, is_allowed, may_fetch

ROOT = Path(__file__).parents[3]
ROWS: list[dict[str, Any]] = tomllib.loads((ROOT / "tests/data/robots/states.toml").read_text("utf-8"))["row"]
DECISION = (ROOT / "docs/decisions/0005-politeness.md").read_text("utf-8")

ORIGIN = "https://example.com"
NOW = 1_700_000_000.0
DAY = 86_400.0
BODY = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\n"

CASES = [
    (row, status, failure)
    for row in ROWS
    for status, failure in (
        [(status, None) for status in row.get("statuses", ())]
        + [(None, failure) for failure in row.get("failures", ())]
        + ([(None, None)] if row.get("redirected") else [])
        + ([(None, "cut")] if row.get("cut") else [])
    )
]


def answered(status: int, body: bytes = BODY, now: float = NOW, **more: Any) -> RobotsRecord:
    return answer.answered(ORIGIN, status, body, now, **{"agents": ("foobot",), **more})


def verdict(record: RobotsRecord | None, path: str = "/page", now: float = NOW) -> RobotsVerdict:
    rules = RobotsRules(record.text, "foobot") if record is not None else None
    return asked(record, rules, ORIGIN + path, now)


def asked(record: RobotsRecord | None, rules: RobotsRules | None, url: str, now: float) -> RobotsVerdict:
    """What is said with its reason, which has to be what is said without."""
    said = may_fetch(record, rules, url, now)
    assert is_allowed(record, rules, url, now) is said.allowed
    return said


@each_row(("row", "status", "failure"), CASES)
def test_every_outcome_has_the_answer_of_the_table(
    row: dict[str, Any], status: int | None, failure: str | None
) -> None:
    if status is not None:
        record = answered(status)
    elif failure is not None:
        record = answer.unreachable(ORIGIN, None, NOW)
    else:
        record = answer.redirected(ORIGIN, None, NOW)
    assert record.origin == ORIGIN
    assert record.state == row["state"]
    assert verdict(record).allowed is row["fetched"]
    assert row["seconds"] <= record.expires_at - NOW <= row["seconds"] * 1.1
    assert verdict(record, "/private").allowed is (row["state"] == "allowed_all")


@each_row("row", ROWS, ids=lambda row: row["came"])
def test_the_table_of_outcomes_is_in_the_documentation(row: dict[str, Any]) -> None:
    assert f"| {row['came']} | `{row['state']}` | {row['pages']} | {row['again']} |" in DECISION


def test_every_state_is_in_the_table() -> None:
    assert {row["state"] for row in ROWS} == set(RobotsState)


def test_the_rules_and_the_crawl_delay_are_read_from_the_body() -> None:
    record = answered(200, ttl=100.0)
    assert record.crawl_delay_seconds == 2.5
    assert (record.fetched_at, record.expires_at) == (NOW, NOW + 100)
    assert record.text == BODY.decode()


def test_a_long_body_is_read_up_to_the_limit() -> None:
    assert answered(200, max_bytes=20).text == "User-agent: *\n"


def test_a_verdict_names_the_line_that_decided() -> None:
    assert verdict(answered(200), "/private/x") == RobotsVerdict(
        False, "robots.txt line 2: Disallow: /private"
    )
    assert verdict(answered(200), "/").reason == "robots.txt has no rule for it"
    assert verdict(answered(404), "/").reason == "there is no robots.txt"


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_that_has_expired_allows_nothing(status: int) -> None:
    record = answered(status)
    assert answer.is_fresh(record, NOW + DAY - 1)
    assert verdict(record, now=NOW + DAY - 1).allowed
    assert not answer.is_fresh(record, NOW + DAY)
    assert not verdict(record, now=NOW + DAY).allowed


def test_an_origin_that_was_never_asked_allows_nothing() -> None:
    assert not verdict(None).allowed
    assert not answer.is_fresh(None, NOW)


def test_rules_that_are_not_at_hand_allow_nothing() -> None:
    assert not asked(answered(200), None, ORIGIN + "/", NOW).allowed


@each_row(
    "url",
    [
        "http://example.com/page",
        "https://example.com:8443/page",
        "https://example.com.evil.test/page",
        "https://www.example.com/page",
        "https://example.co/page",
        "/page",
    ],
)
def test_an_answer_holds_for_its_own_origin_only(url: str) -> None:
    for status in (200, 404):
        record = answered(status)
        assert not asked(record, RobotsRules(record.text, "foobot"), url, NOW).allowed


def test_the_last_text_stays_in_force_while_robots_txt_is_unreachable() -> None:
    record = answer.unreachable(ORIGIN, answered(200), NOW + DAY)
    assert record.state == RobotsState.RULES
    assert record.fetched_at == NOW
    assert (record.attempts, record.crawl_delay_seconds) == (1, 2.5)
    assert verdict(record, "/page", NOW + DAY + 1).allowed
    assert not verdict(record, "/private", NOW + DAY + 1).allowed
    assert verdict(record, "/page", NOW + DAY + 599).allowed
    assert not verdict(record, "/page", NOW + DAY + 660).allowed


def test_an_empty_text_stays_in_force_like_any_other() -> None:
    empty = answered(200, b"")
    for previous in (empty, answer.redirected(ORIGIN, empty, NOW + DAY)):
        record = answer.unreachable(ORIGIN, previous, NOW + DAY)
        assert record.state == RobotsState.RULES
        assert verdict(record, now=NOW + DAY).allowed


def test_a_pause_that_the_host_asks_for_does_not_use_up_the_time_of_the_last_text() -> None:
    """A 503 leaves the whole host alone: the text must be in force when it may be asked again."""
    for asked, pause in ((None, 66.0), (3600.0, 3600.0), (1e9, DAY)):
        record = answered(503, now=NOW + DAY, previous=answered(200), retry_after=asked)
        assert record.state == RobotsState.RULES
        assert record.expires_at >= NOW + DAY + pause + 500


def unreachable_for(days: float, absence: Absence, record: RobotsRecord | None) -> tuple[RobotsRecord, float]:
    """What is known after so many days in which robots.txt could never be had, and when that is."""
    at = NOW if record is None else record.expires_at
    while True:
        record = answer.unreachable(ORIGIN, record, at, absence=absence)
        if record.expires_at > NOW + days * DAY:
            return record, min(at, NOW + days * DAY)
        at = record.expires_at


@each_row(
    ("then", "had", "during", "after"),
    [
        ("refuse", True, "by its text", "nothing"),
        ("refuse", False, "nothing", "nothing"),
        ("copy", True, "by its text", "by its text"),
        ("copy", False, "nothing", "nothing"),
        ("allow", True, "by its text", "all"),
        ("allow", False, "nothing", "all"),
    ],
)
def test_after_thirty_days_without_it_the_setting_decides(
    then: Any, had: bool, during: str, after: str
) -> None:
    for days, expected in ((29, during), (33, after), (400, after)):
        record, at = unreachable_for(days, Absence(then=then), answered(200) if had else None)
        allowed = verdict(record, "/page", at).allowed, verdict(record, "/private", at).allowed
        assert (
            allowed
            == {"nothing": (False, False), "by its text": (True, False), "all": (True, True)}[expected]
        )
        assert record.attempts > 0


def test_what_is_taken_for_absent_is_asked_for_at_the_same_intervals() -> None:
    record, at = unreachable_for(40, Absence(then="allow"), None)
    assert record.state == RobotsState.ALLOWED_ALL
    assert DAY <= record.expires_at - at <= DAY * 1.1
    assert answered(200, previous=record).state == RobotsState.RULES


def test_the_last_text_is_not_in_force_a_second_longer_than_the_setting_says() -> None:
    record = answered(200)
    while record.state == RobotsState.RULES:
        assert record.expires_at <= NOW + 10 * DAY
        record = answer.unreachable(ORIGIN, record, record.expires_at, absence=Absence(10 * DAY))
    assert record.text == ""


def test_there_is_none_does_not_stay_in_force() -> None:
    assert answer.unreachable(ORIGIN, answered(404), NOW).state == RobotsState.UNREACHABLE


def test_an_unreachable_robots_txt_is_asked_for_at_growing_intervals() -> None:
    record: RobotsRecord | None = None
    waits = []
    now = NOW
    for _ in range(20):
        record = answer.unreachable(ORIGIN, record, now)
        waits.append(record.expires_at - now)
        assert answer.is_fresh(record, record.expires_at - 1)
        now = record.expires_at
    assert record is not None
    assert (record.attempts, record.fetched_at) == (20, NOW)
    assert waits == sorted(waits)
    assert 60 / 32 <= waits[0] <= 66 / 32
    assert waits[3] == pytest.approx(8 * waits[0])
    assert DAY <= waits[-1] <= DAY * 1.1


def test_an_answer_ends_the_back_off() -> None:
    record = answer.unreachable(ORIGIN, answer.unreachable(ORIGIN, None, NOW), NOW + 2)
    assert answered(200, previous=record).attempts == 0
    assert answered(503, previous=record).attempts == 3


@each_row(("asked", "wait"), [(None, 60 / 32), (1.0, 60 / 32), (5.0, 5), (3600.0, 3600), (1e9, DAY)])
def test_retry_after_delays_the_next_try_up_to_a_day(asked: float | None, wait: float) -> None:
    record = answered(429, retry_after=asked)
    assert wait <= record.expires_at - NOW <= wait * 1.1


def test_a_redirect_keeps_the_last_text_for_the_case_that_its_target_fails() -> None:
    pending = answer.redirected(ORIGIN, answered(200), NOW + DAY)
    assert pending.state == RobotsState.PENDING
    assert not verdict(pending, now=NOW + DAY).allowed
    after = answer.unreachable(ORIGIN, pending, NOW + DAY + 1)
    assert after.state == RobotsState.RULES
    assert (after.fetched_at, after.text) == (NOW, BODY.decode())


def test_a_redirect_keeps_the_back_off() -> None:
    failed = answer.unreachable(ORIGIN, None, NOW)
    pending = answer.redirected(ORIGIN, failed, NOW + 60)
    assert answer.unreachable(ORIGIN, pending, NOW + 61).attempts == 2
    assert answer.unreachable(ORIGIN, pending, NOW + 61).fetched_at == NOW


def test_a_redirect_of_an_origin_without_robots_txt_starts_afresh() -> None:
    pending = answer.redirected(ORIGIN, answered(404), NOW + DAY)
    assert (pending.fetched_at, pending.text) == (NOW + DAY, "")


steps = st.lists(
    st.tuples(
        st.integers(-1, 700) | st.sampled_from(["unreachable", "redirected"]),
        st.binary(max_size=40),
        st.floats(min_value=0, max_value=1e7),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(steps)
def test_no_page_is_ever_allowed_but_by_a_fresh_answer(
    steps: list[tuple[int | str, bytes, float]],
) -> None:
    record: RobotsRecord | None = None
    now = NOW
    for step, body, later in steps:
        now += later
        if step == "unreachable":
            record = answer.unreachable(ORIGIN, record, now)
        elif step == "redirected":
            record = answer.redirected(ORIGIN, record, now)
        else:
            record = answered(int(step), body, now, previous=record)
        assert record.expires_at > now
        for at in (now, record.expires_at - 1e-3, record.expires_at, record.expires_at + DAY):
            if verdict(record, now=at).allowed:
                assert answer.is_fresh(record, at)
                assert record.state in (RobotsState.RULES, RobotsState.ALLOWED_ALL)
                assert at - record.fetched_at <= answer.ABSENT_SECONDS


def test_the_longest_crawl_delay_of_all_names_is_kept() -> None:
    body = b"User-agent: foobot\nCrawl-delay: 2\nDisallow: /x\n\nUser-agent: barbot\nCrawl-delay: 9\n"

    delays = [
        answered(200, body, agents=names).crawl_delay_seconds for names in (("foobot",), ("foobot", "barbot"))
    ]
    assert delays == [2.0, 9.0]


LIFETIMES = [
    # fresh by its Cache-Control, valid for
    (None, DAY),
    (0.0, 3_600.0),
    (3_599.0, 3_600.0),
    (7_200.0, 7_200.0),
    (DAY, DAY),
    (10 * 365 * DAY, DAY),
]


@each_row(("fresh", "valid"), LIFETIMES)
def test_a_text_is_valid_as_its_cache_control_says_within_an_hour_and_a_day(
    fresh: float | None, valid: float
) -> None:
    assert answered(200, fresh_seconds=fresh).expires_at == NOW + valid


def test_the_cache_control_of_an_error_page_is_not_about_robots_txt() -> None:
    assert answered(404, fresh_seconds=0.0).expires_at == NOW + DAY


def test_the_longest_time_of_the_operator_is_stronger_than_the_shortest() -> None:
    assert answered(200, fresh_seconds=0.0, ttl=60.0).expires_at == NOW + 60.0
    assert answered(200, fresh_seconds=90.0, ttl=600.0, ttl_min=60.0).expires_at == NOW + 90.0
