"""Violations of every kind are planted and found, with the right two requests; what is right is not accused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.unit.reports.log_lines import DAY, DELAY, T0, Line, audited, line, robots, told
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.groups import Group, Groups
from webcrawl.politeness.shared_clocks import SharedClocks
from webcrawl.reports import fetch_logs
from webcrawl.reports.clocks import ViolationKind

CAMPUS = Groups([Group("campus", 3.0, frozenset({"test"}), ())])
STEP = DELAY + 0.5
"""From one start to the next: half a second of answer, and the delay."""


def polite(pages: int, host: str = "a.test", begin: float = 0.0, **changes: Any) -> list[Line]:
    """A robots.txt and some pages, each as soon as it may be."""
    return [
        robots(begin, host, number=1, **changes),
        *(line(begin + STEP * at, f"/{at}", host, number=at + 1, **changes) for at in range(1, pages + 1)),
    ]


def test_a_polite_crawl_has_no_violation() -> None:
    violations, audit = audited(polite(20), polite(20, "b.test", 0.3, worker="w2"))
    assert violations == []
    assert audit.totals.requests == 42
    assert audit.totals.workers == {"w1", "w2"}
    assert (audit.totals.started_at, audit.totals.ended_at) == (T0, T0 + 20 * STEP + 0.8)
    assert audit.totals.unproved == audit.totals.missing == audit.totals.without_delay == 0


def test_two_requests_at_once() -> None:
    violations, _ = audited([robots(0), line(6, took=10), line(8, "/2", worker="w2", took=1)])
    assert told(violations) == [("overlap", 6, 8)]
    assert violations[0].seconds == pytest.approx(8)


def test_every_request_within_a_long_one_is_told() -> None:
    violations, _ = audited([robots(0), line(10, took=20), line(12, "/2", took=1), line(20, "/3", took=1)])
    assert told(violations) == [("overlap", 10, 12), ("overlap", 10, 20)]


def test_a_request_before_the_delay_is_over() -> None:
    violations, _ = audited([robots(0), line(6), line(11.4, "/2"), line(16.9, "/3")])
    assert told(violations) == [("early", 6, 11.4)]
    assert violations[0].seconds == pytest.approx(0.1, abs=1e-6)


def test_what_came_from_a_cache_is_no_request_but_its_robots_txt_holds() -> None:
    cached: dict[str, Any] = {"cached": True, "delay": None}
    violations, audit = audited(
        [robots(0, **cached), line(0.1, **cached), line(0.2, "/2", **cached), line(1, "/3")]
    )
    assert violations == []
    assert (audit.totals.requests, audit.totals.cached, audit.totals.unproved) == (1, 3, 0)


def test_a_longer_delay_of_an_earlier_request_still_holds() -> None:
    lines = [robots(0), line(6, status=429, delay=600.0), line(100, "/2"), line(105.5, "/3"), line(607, "/4")]
    assert told(audited(lines)[0]) == [("early", 6, 100), ("early", 6, 105.5)]


def beside(at: float, host: str, *, took: float = 0.5, **changes: Any) -> Line:
    """A page of one of several hosts at one address."""
    return line(at, "/1", host, took=took, ip="192.0.2.1", **changes)


OWED = {"address 192.0.2.1": 2.0, "group campus": 3.0}


@pytest.mark.parametrize(
    ("clocks", "policy"),
    [
        pytest.param(OWED, {}, id="by the log's own word"),
        pytest.param(None, {"shared": SharedClocks(2.0, groups=CAMPUS)}, id="by the settings"),
        pytest.param(
            dict.fromkeys(OWED, 0.1), {"shared": SharedClocks(2.0, groups=CAMPUS)}, id="by the longer"
        ),
    ],
)
def test_clocks_that_sites_share(clocks: dict[str, float] | None, policy: dict[str, Any]) -> None:
    before = [robots(at, host) for at, host in ((-60, "a.test"), (-40, "b.test"), (-20, "c.test"))]
    lines = [
        *before,
        beside(6, "a.test", clocks=clocks),
        beside(8, "b.test", clocks=clocks),
        beside(10, "c.test", took=5, clocks=clocks),
        beside(14, "a.test", clocks=clocks),
    ]
    violations, _ = audited(sorted(lines, key=lambda line: line["end"]), **policy)
    told_of = [(violation.clock, *told([violation])[0]) for violation in violations]
    assert told_of == [
        ("address 192.0.2.1", "early", 6, 8),
        ("group campus", "early", 6, 8),
        ("address 192.0.2.1", "early", 8, 10),
        ("group campus", "early", 8, 10),
        ("address 192.0.2.1", "overlap", 10, 14),
        ("group campus", "overlap", 10, 14),
    ]
    assert violations[0].seconds == pytest.approx(0.5)
    assert violations[1].seconds == pytest.approx(1.5)


def test_shared_clocks_that_were_kept() -> None:
    before = [robots(-20, host) for host in ("a.test", "b.test")]
    lines = [*before, beside(6, "a.test", clocks=OWED), beside(9.5, "b.test", clocks=OWED)]
    assert audited(lines)[0] == []
    # At another address, and of no group.
    elsewhere = line(9.6, "/1", "c.test", ip="192.0.2.2")
    assert audited([*before, robots(-20, "c.test"), *lines[2:], elsewhere], shared=SharedClocks(2.0))[0] == []


@pytest.mark.parametrize("kind", ["page", "robots", "sitemap"])
def test_redirects_failures_robots_and_sitemaps_have_a_clock_to_keep(kind: str) -> None:
    lines = [
        robots(0),
        line(6, status=301),
        line(11.5, status=None, error="reset", attempt=1),
        line(14, "/x", kind=kind),
    ]
    assert told(audited(lines)[0]) == [("early", 11.5, 14)]


def test_hosts_of_a_key_share_its_clock_and_others_do_not() -> None:
    lines = [robots(0, "a.test"), robots(1, "x.a.test"), robots(1, "b.test")]
    assert told(audited(lines)[0]) == [("early", 0, 1)]


def test_the_tolerance_excuses_so_much_and_no_more() -> None:
    lines = [robots(0), line(5.3)]
    assert told(audited(lines)[0]) == [("early", 0, 5.3)]
    assert audited(lines, tolerance_seconds=0.25)[0] == []
    assert told(audited([robots(0), line(0.3)], tolerance_seconds=0.25)[0])[0][0] == "early"


def test_a_crawl_delay_is_held_against_pages_of_its_origin() -> None:
    lines = [robots(0, crawl_delay=20.0), line(20.5), line(30, "/2"), line(55.5, "/3")]
    assert told(audited(lines)[0]) == [("early", 20.5, 30)]


def test_a_crawl_delay_beyond_the_longest_is_held_to_that() -> None:
    assert audited([robots(0, crawl_delay=900.0), line(301)])[0] == []


def test_a_least_delay_is_held_against_what_the_log_says() -> None:
    lines = [robots(0, delay=1.0), line(2, delay=1.0), line(3.5, "/2", delay=1.0)]
    assert audited(lines)[0] == []
    assert told(audited(lines, least_delay_seconds=1.3)[0]) == [("early", 2, 3.5)]


# -- what older logs do not tell -------------------------------------------------------------------------


def test_without_the_delay_in_the_log_the_settings_say_it() -> None:
    lines = [robots(0, delay=None), line(5.5, delay=None), line(10, "/2", delay=None)]
    violations, audit = audited(lines)
    assert told(violations) == [("early", 5.5, 10)]
    assert audit.totals.without_delay == 3


def test_without_it_the_mean_of_five_downloads_counts_and_what_is_not_known_as_none() -> None:
    mean = Politeness("mean", 1.0, 60.0, 10.0, crawl_delay_max=300.0)
    # One download of half a second, four that are not known: a delay of one second; later the mean is known.
    lines = [robots(0, delay=None), *(line(1.6 + 5.6 * at, f"/{at}", delay=None) for at in range(7))]
    assert audited(lines, politeness=mean)[0] == []
    lines.append(line(1.6 + 5.6 * 6 + 5.3, "/early", delay=None))
    assert told(audited(lines, politeness=mean)[0]) == [("early", 35.2, 40.5)]


@each_row(("status", "wrong"), [(200, 0), (404, 0), (301, 0), (429, 1), (500, 1), (None, 1)])
def test_what_an_answer_means_is_taken_from_its_status(status: int | None, wrong: int) -> None:
    answer = robots(
        0, status=status, error=None if status else "timeout", robots=None, until=None, origin=None
    )
    assert len(audited([answer, line(6, number=2)])[0]) == wrong


def test_a_text_stays_in_force_while_it_cannot_be_had() -> None:
    old = {"robots": None, "until": None, "origin": None}
    lines = [robots(0, **old), robots(DAY, status=503, **old), line(DAY + 6)]
    assert audited(lines)[0] == []


# -- robots.txt ------------------------------------------------------------------------------------------


def test_a_page_without_robots_txt() -> None:
    violations, _ = audited([line(0, number=1), robots(6, number=2), line(12, "/2", number=3)])
    assert told(violations) == [("robots", None, 0)]


def test_a_page_before_the_robots_txt_has_come() -> None:
    violations, _ = audited([robots(0, took=3), line(2, took=0.1, key="other", number=1)])
    assert told(violations) == [("robots", 0, 2)]
    assert violations[0].seconds == pytest.approx(1)


def test_a_robots_txt_of_another_origin_does_not_count() -> None:
    violations, _ = audited([robots(0, number=1), line(6, host="x.a.test", number=2), line(12, number=3)])
    assert told(violations) == [("robots", None, 6)]


def test_an_expired_robots_txt() -> None:
    violations, _ = audited([robots(0, until=T0 + 100), line(150), line(161, "/2")])
    assert told(violations) == [("robots", 0, 161)]


@pytest.mark.parametrize("state", ["unreachable", "pending", "of another version"])
def test_a_robots_txt_that_could_not_be_had_allows_nothing(state: str) -> None:
    violations, _ = audited([robots(0, status=503, robots=state), line(6)])
    assert told(violations) == [("robots", 0, 6)]


def test_a_redirected_robots_txt_counts_for_whom_it_was_asked() -> None:
    lines = [
        robots(0, status=301, robots="pending"),
        robots(1, "b.test", url="http://b.test/r", origin="http://a.test"),
        line(7),
        line(7, host="b.test", number=2),
    ]
    violations, audit = audited(lines)
    assert violations == []
    assert audit.totals.unproved == 1


def test_a_log_that_begins_in_the_middle_proves_nothing_on_its_first_pages() -> None:
    lines = [line(0, number=40), line(STEP, "/2", number=41), line(DAY + STEP, "/3", number=42)]
    violations, audit = audited(lines)
    assert told(violations) == [("robots", None, DAY + STEP)]
    assert audit.totals.unproved == 2


def test_a_log_of_another_worker_that_was_left_out_is_noticed() -> None:
    lines = [*polite(3), line(100, "/later", "x.a.test", number=9)]
    violations, audit = audited(lines)
    assert violations == []
    assert (audit.totals.missing, audit.totals.unproved) == (4, 1)


def test_what_has_no_origin_needs_no_robots_txt() -> None:
    assert audited([line(0, url="data:,hello", number=1)])[0] == []


# -- keys that were lost ---------------------------------------------------------------------------------


def test_a_request_counts_as_ended_when_its_key_was_lost() -> None:
    frozen = line(6, took=100, delay=None, lost_at=T0 + 10, error="timeout", status=None)
    violations, audit = audited([robots(0), frozen, line(15.1, "/2", worker="w2")])
    assert violations == []
    assert audit.totals.cut_off == 1
    assert told(audited([robots(0), frozen, line(9, "/2", worker="w2")])[0]) == [("overlap", 6, 9)]
    assert told(audited([robots(0), frozen, line(14, "/2", worker="w2")])[0]) == [("early", 6, 14)]


def test_what_was_given_up_before_it_was_sent_is_no_request() -> None:
    given_up = line(6.2, "/2", delay=None, lost_at=T0 + 6.2, error="cancelled", status=None)
    violations, audit = audited([robots(0), line(6), given_up])
    assert violations == []
    assert (audit.totals.not_sent, audit.totals.requests) == (1, 2)


# -- several logs ----------------------------------------------------------------------------------------


def test_the_second_request_may_be_in_another_log() -> None:
    lines = polite(10)
    lines[6]["start"] -= 1
    lines[6]["worker"] = "w2"
    violations, _ = audited(lines[::2], lines[1::2])
    assert told(violations) == [("early", STEP * 5, STEP * 6 - 1)]
    assert [violations[0].before.worker if violations[0].before else None, violations[0].request.worker] == [
        "w1",
        "w2",
    ]


def test_a_log_and_its_copy_are_one() -> None:
    lines = polite(10)
    violations, audit = audited(lines, lines[:6])
    assert violations == []
    assert (audit.totals.requests, audit.totals.copies) == (11, 6)


def test_what_is_out_of_order_in_its_log_is_put_right() -> None:
    lines = polite(12)
    shuffled = [lines[at] for at in (1, 0, 4, 2, 3, 8, 6, 7, 5, 12, 9, 11, 10)]
    assert audited(shuffled)[0] == []


def test_what_is_far_out_of_order_is_not_accused_for_what_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_logs, "STRETCH", 1)
    lines = polite(100)
    assert audited([*lines[:2], *lines[3:], lines[2]])[0] == []
    lines[50]["end"] += 10
    late = lines.pop(50)
    violations, _ = audited([*lines, late])
    assert violations == []  # only the last one before is still known
    last = {**lines[-1], "start": lines[-1]["start"] - 1}
    assert told(audited([*lines[:98], last, *lines[98:-1]])[0]) == [("early", STEP * 99, STEP * 100 - 1)]


def test_what_comes_late_still_forbids_what_was_taken_before() -> None:
    far = line(4000, host="b.test", number=2)
    lines = [robots(0), line(100, "/2"), far, line(98, took=0.5)]
    assert told(audited(lines)[0]) == [("early", 98, 100)]
    lines[3] = line(98, took=20)
    assert told(audited(lines)[0]) == [("overlap", 98, 100)]


def test_memory_is_that_of_the_keys_contacted_lately() -> None:
    lines = [robots(10.0 * at, f"h{at}.test", until=T0 + 10.0 * at + 3600, number=1) for at in range(60_000)]
    violations, audit = audited(lines)
    assert violations == []
    assert audit.held() < 12_000


def test_kinds_are_counted() -> None:
    lines = [line(0, number=1), line(0.2, "/2", number=2), line(3, "/3", number=3)]
    _, audit = audited(lines)
    assert audit.totals.violations == {
        ViolationKind.ROBOTS: 3,
        ViolationKind.OVERLAP: 1,
        ViolationKind.EARLY: 1,
    }
