"""The witness finds every planted violation and none in a clean log."""

from __future__ import annotations

from tests.fakeweb.log import Hit
from tests.fakeweb.witness import most_open, pages_before_robots, repeated, violations


def _hit(start: float, end: float, host: str = "a", path: str = "/", *, complete: bool = True) -> Hit:
    return Hit(start, end, start, end, "http", host, "127.0.0.1", "GET", path, 200, 10, complete, 1, "x")


CLEAN = [
    _hit(0, 1, path="/robots.txt"),
    _hit(3, 4),
    _hit(6, 7, path="/b"),
    _hit(0.5, 9, host="b", path="/robots.txt"),
]


def _two_seconds(_: Hit) -> float:
    return 2.0


def test_a_clean_log_has_no_violations() -> None:
    assert violations(CLEAN, _two_seconds) == []
    assert pages_before_robots(CLEAN) == []
    assert repeated(CLEAN) == {}
    assert most_open(CLEAN) == 1


def test_a_gap_that_is_too_short_is_found() -> None:
    (found,) = violations([*CLEAN, _hit(8.9, 9, path="/c")], _two_seconds)

    assert (found.kind, found.key, found.owed) == ("gap", "a", 2.0)
    assert 1.89 < found.gap < 1.91
    assert (found.before.path, found.after.path) == ("/b", "/c")


def test_tolerance_excuses_a_gap_but_no_overlap() -> None:
    log = [_hit(0, 1), _hit(2.95, 4, path="/b"), _hit(3.9, 5, path="/c")]

    (found,) = violations(log, _two_seconds, tolerance=0.1)

    assert (found.kind, found.after.path) == ("overlap", "/c")


def test_an_overlap_is_found_behind_a_long_request() -> None:
    log = [_hit(0, 100, path="/long"), _hit(10, 11, path="/b"), _hit(20, 21, path="/c")]

    assert [(found.kind, found.after.path) for found in violations(log, lambda _: 0.0)] == [
        ("overlap", "/b"),
        ("overlap", "/c"),
    ]
    assert most_open(log) == 2


def test_the_key_decides_who_shares_a_clock() -> None:
    log = [_hit(0, 1, "s1.a"), _hit(1.5, 2, "s2.a")]

    assert violations(log, _two_seconds) == []
    assert len(violations(log, _two_seconds, lambda hit: hit.host[-1])) == 1


def test_the_order_of_the_lines_does_not_matter() -> None:
    assert violations(reversed(CLEAN), _two_seconds) == []


def test_a_page_before_robots_txt_is_found() -> None:
    early = _hit(0.5, 0.6, path="/early")
    never = _hit(5, 6, "c")
    broken = [_hit(0, 1, "d", "/robots.txt", complete=False), _hit(2, 3, "d")]

    assert pages_before_robots([*CLEAN, early, never, *broken]) == [early, broken[1], never]


def test_pages_fetched_twice_are_counted() -> None:
    assert repeated([*CLEAN, _hit(9, 10), _hit(11, 12), _hit(13, 14, path="/robots.txt")]) == {"http://a/": 3}
