"""Lines of the fetch log as values, and several logs as one."""

from __future__ import annotations

import random
from typing import Any

from tests.rows import each_row
from tests.unit.reports.log_lines import T0, line, request, robots
from webcrawl.reports.fetch_logs import MergedRequests, parse_request

WRONG: list[dict[str, Any]] = [
    {"start": None},
    {"end": "soon"},
    {"start": float("nan")},
    {"start": -5.0},
    {"end": 1e300},
    {"url": 5},
    {"key": None},
    {"kind": []},
]


@each_row("change", WRONG, ids=str)
def test_a_line_without_what_is_needed_is_no_request(change: dict[str, Any]) -> None:
    merged = MergedRequests([[line(0), line(1) | change, line(2)]], 10.0)
    assert [logged.start - T0 for logged in merged] == [0, 2]
    assert merged.unreadable == 1


def test_facts_of_another_type_are_none() -> None:
    logged = parse_request(
        line(0) | {"status": "ok", "error": 5, "bytes": None, "delay": "x", "number": 1.5, "lost_at": True}
    )
    assert logged is not None
    assert (logged.status, logged.error, logged.bytes, logged.delay, logged.number) == (
        None,
        None,
        0,
        None,
        None,
    )
    assert logged.result == "unknown"


def test_an_end_before_the_start_is_the_start() -> None:
    assert request(5, took=-3).end == T0 + 5


@each_row(
    ("url", "origin", "host"),
    [
        ("http://a.test/x", "http://a.test", "a.test"),
        ("https://a.test:81/x", "https://a.test:81", "a.test"),
        ("http://a.test", None, ""),
        ("data:,x", None, ""),
    ],
)
def test_origin_and_host(url: str, origin: str | None, host: str) -> None:
    logged = request(0, url=url)
    assert (logged.origin, logged.host) == (origin, host)


def test_a_robots_line_tells_whose_it_is() -> None:
    logged = parse_request(robots(0, origin="http://b.test", crawl_delay=2, digest="sha1:X"))
    assert logged is not None
    assert logged.robots is not None
    assert (logged.robots.origin, logged.robots.crawl_delay, logged.robots.digest) == (
        "http://b.test",
        2.0,
        "sha1:X",
    )
    older = parse_request(robots(0, origin=None, robots=None, until=None))
    assert older is not None
    assert older.robots is not None
    assert (older.robots.origin, older.robots.state) == ("http://a.test", None)


def test_logs_that_are_in_order_of_ends_become_one_in_order_of_starts() -> None:
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    draw = random.Random(seed)
    lines = [line(draw.uniform(0, 5000), f"/{at}", took=draw.uniform(0, 50)) for at in range(2000)]
    logs: list[list[dict[str, Any]]] = [[], [], []]
    for one in sorted(lines, key=lambda one: one["end"] + draw.uniform(0, 10)):
        draw.choice(logs).append(one)
    merged = MergedRequests(logs, 60.0)
    assert [logged.start for logged in merged] == sorted(one["start"] for one in lines)
    assert merged.late == 0


def test_a_log_that_begins_long_after_another_waits_for_it() -> None:
    starts = [
        logged.start - T0
        for logged in MergedRequests([[line(at) for at in range(1000)], [line(500.5)], []], 5.0)
    ]
    assert starts == sorted(starts)
    assert len(starts) == 1001


def test_what_comes_too_late_is_given_and_counted() -> None:
    merged = MergedRequests([[line(at) for at in (0, 100, 200, 50, 300)]], 10.0, waiting_max=1)
    assert [logged.start - T0 for logged in merged] == [0, 100, 50, 200, 300]
    assert merged.late == 1


def test_no_more_lines_wait_than_may() -> None:
    merged = MergedRequests([[line(at) for at in range(500)]], 1e9, waiting_max=10)
    assert [logged.start - T0 for logged in merged] == list(range(500))
