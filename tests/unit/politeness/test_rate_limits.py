"""The limits in RateLimit fields and their former forms, and the delay that they cause."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.politeness.delay import RATE_LIMIT_MAX_SECONDS, Politeness
from webcrawl.politeness.host_record import HostRecord
from webcrawl.politeness.rate_limit_fields import FIELDS, quotas
from webcrawl.politeness.rate_limits import RateLimit, limits_in_words, rate_limit

NOW = 1_700_000_000.0
DAY = 86_400.0

LIMITS = [
    # -- examples of draft-ietf-httpapi-ratelimit-headers-10
    ({"RateLimit": '"default";r=50;t=30'}, RateLimit(0.6, 30)),
    ({"RateLimit": '"default";r=1;t=7'}, RateLimit(7, 7)),
    ({"RateLimit": '"problemPolicy";r=0;t=10'}, RateLimit(wait_seconds=10)),
    ({"RateLimit": '"default";r=999;pk=:dHJpYWwxMjEzMjM=:'}, None),
    ({"RateLimit": '"daily";r=1;t=36400'}, RateLimit(36400, 36400)),
    ({"RateLimit-Policy": '"default";q=100;w=10'}, RateLimit(0.1, 10)),
    ({"RateLimit-Policy": '"permin";q=50;w=60,"perhr";q=1000;w=3600'}, RateLimit(3.6, 3600)),
    ({"RateLimit-Policy": '"burst";q=100;w=60,"daily";q=1000;w=86400'}, RateLimit(86.4, DAY)),
    ({"RateLimit-Policy": '"peruser";q=100;w=60;pk=:cHsdsRa894==:'}, RateLimit(0.6, 60)),
    ({"RateLimit-Policy": '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:'}, None),
    # What remains may not be consumed faster than the policy lets it.
    (
        {"RateLimit-Policy": '"somepolicy";q=10000;w=1000', "RateLimit": '"somepolicy";r=10000;t=10'},
        RateLimit(0.1, 1000),
    ),
    # -- what follows from its text
    ({"RateLimit": '"a";r=50;t=30, "b";r=2;t=20, "c";r=9'}, RateLimit(10, 30)),
    ({"RateLimit": '"a";r=0', "RateLimit-Policy": '"a";q=5;w=20'}, RateLimit(4, 20, 20)),
    ({"RateLimit": '"a";r=0'}, RateLimit(wait_seconds=60)),
    ({"RateLimit": '"a";r=0;t=0'}, RateLimit(wait_seconds=1)),
    ({"RateLimit": '"a";r=5;t=10', "RateLimit-Policy": '"a";q=9;qu="requests";w=9'}, RateLimit(2, 10)),
    ({"RateLimit": '"a";r=0;t=9', "RateLimit-Policy": '"a";q=9;qu="content-bytes";w=9'}, None),
    ({"RateLimit": '"a";r=0;t=9', "RateLimit-Policy": '"a";q=9;qu="concurrent-requests"'}, None),
    ({"RateLimit": "default;r=1;t=7"}, RateLimit(7, 7)),
    ({"RateLimit-Policy": '"a";q=0;w=30'}, RateLimit(wait_seconds=30)),
    # Malformed fields are ignored.
    ({"RateLimit": '"a";r=-1;t=5'}, None),
    ({"RateLimit": '"a";r=1.5;t=5'}, None),
    ({"RateLimit": '"a";r="0";t=5'}, None),
    ({"RateLimit": '"a";r;t=5'}, None),
    ({"RateLimit": '"a";r=0;t=5, "b'}, None),
    ({"RateLimit": "r=0"}, None),
    ({"RateLimit": ""}, None),
    ({"RateLimit": '("a" "b");r=0;t=5'}, None),
    ({"RateLimit": '"a";r=0;t=99999999999999999999'}, None),
    ({"RateLimit": '"a";r=0;t=5,' * 400 + '"b"'}, None),
    ({"RateLimit": "\u00e9;r=0"}, None),
    ({"RateLimit-Policy": '"a";q=5;w=0'}, None),
    ({"RateLimit-Policy": '"a";w=5'}, None),
    # -- former drafts: 07, 06 and 03
    ({"RateLimit": "limit=100, remaining=50, reset=5"}, RateLimit(0.1, 5)),
    ({"RateLimit": "limit=10, remaining=0, reset=10"}, RateLimit(wait_seconds=10)),
    ({"RateLimit": "limit=10, reset=1"}, None),
    (
        {
            "RateLimit": "limit=100, remaining=50, reset=44",
            "RateLimit-Policy": '100;w=60;comment="fixed window"',
        },
        RateLimit(0.88, 60),
    ),
    ({"RateLimit-Policy": "10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400"}, RateLimit(17.28, DAY)),
    (
        {"RateLimit-Limit": "10", "RateLimit-Remaining": "1", "RateLimit-Reset": "7"},
        RateLimit(7, 7),
    ),
    (
        {"RateLimit-Limit": "100, 100;w=10", "RateLimit-Remaining": "0", "RateLimit-Reset": "5"},
        RateLimit(0.1, 10, 5),
    ),
    ({"RateLimit-Remaining": "0", "RateLimit-Reset": "1700000030"}, RateLimit(wait_seconds=1_700_000_030)),
    ({"RateLimit-Remaining": "soon", "RateLimit-Reset": "5"}, None),
    # -- X-RateLimit: seconds, a moment in seconds or milliseconds, or nobody knows
    ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "60"}, RateLimit(12, 60)),
    ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1700000060"}, RateLimit(12, 60)),
    ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060000"}, RateLimit(wait_seconds=60)),
    ({"X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "1699999990"}, RateLimit(wait_seconds=1)),
    ({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1600000000"}, None),
    ({"X-RateLimit-Remaining": "59"}, None),
    ({"X-RateLimit-Remaining": "0"}, RateLimit(wait_seconds=60)),
    ({"X-RateLimit-Remaining": "0, 0", "X-RateLimit-Reset": "5"}, None),
    ({"X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "5"}, None),
    # The newest form counts.
    ({"RateLimit": '"a";r=5;t=10', "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"}, RateLimit(2, 10)),
    ({}, None),
]


@each_row(("fields", "limit"), LIMITS)
def test_fields_are_read_in_all_their_forms(fields: dict[str, str], limit: RateLimit | None) -> None:
    found = rate_limit(quotas(fields, NOW))
    assert (found is None) == (limit is None)
    if found is not None and limit is not None:
        assert found.pause_seconds == pytest.approx(limit.pause_seconds)
        assert found.hold_seconds == limit.hold_seconds
        assert found.wait_seconds == limit.wait_seconds


@given(st.dictionaries(st.sampled_from(FIELDS), st.text(max_size=60)))
def test_whatever_a_server_sends_times_are_numbers_and_none_is_negative(fields: dict[str, str]) -> None:
    found = rate_limit(quotas(fields, NOW))
    if found is not None:
        assert all(math.isfinite(time) and time >= 0 for time in (found.pause_seconds, found.wait_seconds))


def polite(rate_limit_max: float = 60.0) -> Politeness:
    return Politeness("fixed", 2.0, 60.0, 0.0, 300.0, rate_limit_max=rate_limit_max)


def fetched(limit: RateLimit, politeness: Politeness, record: HostRecord, at: float) -> HostRecord:
    politeness.limit(record, limit, at)
    politeness.fetched(record, at - 0.1, at)
    return record


def after(limit: RateLimit, politeness: Politeness | None = None) -> HostRecord:
    return fetched(limit, politeness or polite(), HostRecord("h.test"), NOW)


@each_row(
    ("limit", "rate_limit_max", "pause"),
    [
        (RateLimit(6, 30), 60, 6),
        (RateLimit(0.5, 30), 60, 2),
        (RateLimit(36400, 36400), 60, 60),
        (RateLimit(6, 30), 4, 4),
        (RateLimit(6, 30), 0, 2),
        (RateLimit(wait_seconds=30), 60, 30),
        (RateLimit(wait_seconds=1e15), 60, RATE_LIMIT_MAX_SECONDS),
        (RateLimit(wait_seconds=30), 0, 2),
        (RateLimit(6, 30, 10), 60, 10),
        (RateLimit(60, 600, 3), 60, 60),
    ],
)
def test_the_delay_is_raised_to_what_is_allowed_within_bounds(
    limit: RateLimit, rate_limit_max: float, pause: float
) -> None:
    assert after(limit, polite(rate_limit_max)).next_fetch_at == NOW + pause


def test_the_limit_holds_until_its_window_ends_or_a_later_response_names_another() -> None:
    politeness = polite()
    record = after(RateLimit(6, 30))
    for seconds, pause in ((0, 6), (29, 6), (30, 2), (300, 2)):
        assert politeness.delay(record, NOW + seconds) == pause
    assert politeness.delay(record) == 2
    assert politeness.rate(record, NOW) < politeness.rate(record, NOW + 30)
    politeness.fetched(record, NOW + 20, NOW + 21)
    assert record.next_fetch_at == NOW + 27
    fetched(RateLimit(3, 30), politeness, record, NOW + 22)
    assert politeness.delay(record, NOW + 23) == 3


def test_a_day_is_the_longest_that_one_response_slows_a_host_down() -> None:
    record = after(RateLimit(50, 1e12))
    assert polite().delay(record, NOW + RATE_LIMIT_MAX_SECONDS - 1) == 50
    assert polite().delay(record, NOW + RATE_LIMIT_MAX_SECONDS) == 2


def test_a_wait_is_a_pause_that_the_host_has_asked_for_and_no_failure() -> None:
    record = after(RateLimit(wait_seconds=30))
    assert (record.asked_until, record.failures, record.parks) == (NOW + 30, 0, 0)
    assert (
        limits_in_words(record, NOW + 1)
        == "the host allows no request until then, by Retry-After or RateLimit"
    )
    assert limits_in_words(record, NOW + 31) is None


def test_a_limit_is_named_only_where_it_is_the_reason() -> None:
    assert limits_in_words(after(RateLimit(6, 30)), NOW + 1) == "RateLimit of the host: a request each 6 s"
    assert limits_in_words(after(RateLimit(6, 30)), NOW + 31) is None
    assert limits_in_words(HostRecord("h.test"), NOW) is None
