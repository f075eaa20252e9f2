"""What is told to who runs a domain: all that was fetched there and nothing else, how fast, by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.reports.log_lines import T0, Line, line, robots
from webcrawl.audit.complaint import Complaint
from webcrawl.reports.fetch_logs import MergedRequests

if TYPE_CHECKING:
    from collections.abc import Iterable


def told(lines: Iterable[Line], domain: str = "a.test", **bounds: Any) -> Complaint:
    complaint = Complaint(domain, **bounds)
    for request in MergedRequests([lines], 180.0):
        complaint.take(request)
    return complaint


def test_the_domain_and_what_is_below_it_count_and_nothing_else() -> None:
    hosts = ("a.test", "www.a.test", "x.y.a.test", "xa.test", "a.test.b.test", "test", "a.test.")
    complaint = told([line(at, host=host) for at, host in enumerate(hosts)] + [line(9, url="data:,a.test")])
    assert sorted(complaint.hosts) == ["a.test", "a.test.", "www.a.test", "x.y.a.test"]
    assert complaint.pace.requests == 4


def test_what_came_and_how_much() -> None:
    lines = [
        robots(0, bytes=30),
        line(6, bytes=1000),
        line(12, "/2", status=404, bytes=200),
        line(20, "/3", status=None, error="timeout", bytes=0),
    ]
    complaint = told(lines)
    assert complaint.kinds == {"robots": 1, "page": 3}
    assert complaint.results == {"200": 2, "404": 1, "timeout": 1}
    assert complaint.pace.bytes == 1230
    assert (complaint.pace.first_at - T0, complaint.pace.last_at - T0) == (0, 20)


def test_the_rate_is_that_of_the_busiest_sixty_seconds() -> None:
    starts = [0, 50, 100, 110, 120, 130, 159, 160, 300]
    pace = told([line(at, took=0.5) for at in starts]).pace
    assert (pace.most_in_a_minute, pace.busiest_at - T0) == (5, 100)
    assert pace.mean_gap_seconds == pytest.approx(300 / 8)
    assert pace.shortest_pause_seconds == pytest.approx(0.5)


def test_two_hosts_that_are_asked_at_once_leave_no_pause() -> None:
    complaint = told([line(0, took=10), line(2, host="x.a.test"), line(12)])
    assert complaint.pace.shortest_pause_seconds == pytest.approx(-8)
    assert complaint.hosts["a.test"].shortest_pause_seconds == pytest.approx(2)
    assert complaint.hosts["x.a.test"].shortest_pause_seconds is None
    assert complaint.hosts["x.a.test"].mean_gap_seconds is None


def test_the_period_bounds_what_is_told() -> None:
    complaint = told([line(at) for at in range(0, 100, 10)], begins_at=T0 + 20, ends_at=T0 + 50)
    assert [request.start - T0 for request in complaint.listed] == [20, 30, 40]


def test_no_more_are_listed_than_may() -> None:
    complaint = told([line(at) for at in range(10)], listed_max=3)
    assert (len(complaint.listed), complaint.unlisted) == (3, 7)


def test_each_version_of_robots_txt_has_the_requests_under_it() -> None:
    lines = [
        robots(0, digest="sha1:A"),
        *(line(at) for at in (10, 20)),
        robots(100, digest="sha1:A"),
        line(110),
        robots(200, digest="sha1:B", crawl_delay=2.0),
        line(210),
        robots(300, status=503, robots="rules", crawl_delay=2.0),
        line(310),
    ]
    [versions] = told(lines).robots.values()
    facts = [
        (version.result, version.digest, version.crawl_delay, version.answers, version.requests)
        for version in versions
    ]
    assert facts == [("200", "sha1:A", None, 2, 3), ("200", "sha1:B", 2.0, 1, 1), ("503", None, 2.0, 1, 1)]
    assert (versions[0].first_at - T0, versions[0].last_at - T0) == (0.5, 100.5)


def test_of_the_time_before_the_period_only_what_was_in_force_is_told() -> None:
    lines = [robots(0, digest="sha1:A"), robots(100, digest="sha1:B"), line(210)]
    complaint = told(lines, begins_at=T0 + 200)
    [versions] = complaint.robots.values()
    assert [(version.digest, version.requests) for version in versions] == [("sha1:B", 1)]
    assert complaint.kinds == {"page": 1}


def test_a_redirected_robots_txt_is_told_where_it_belongs() -> None:
    lines = [
        robots(0, status=301, robots="pending"),
        robots(1, "b.test", url="http://b.test/r", origin="http://a.test", digest="sha1:A"),
        robots(2, "b.test", digest="sha1:B"),
        line(9),
    ]
    complaint = told(lines)
    assert {origin: [one.digest for one in found] for origin, found in complaint.robots.items()} == {
        "http://a.test": ["sha1:A"]
    }
    assert complaint.pace.requests == 2


def test_pages_whose_robots_txt_the_logs_do_not_show_are_counted() -> None:
    assert told([line(0), robots(6), line(12)]).without_robots == 1
