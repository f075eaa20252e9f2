"""The summary tells what became of a crawl and how to go on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.unit.reports.figures import snapshot
from webcrawl.frontier.tally import Tally
from webcrawl.reports.summary import CrawlEnd, Shared, summary


def ending(**changed: Any) -> CrawlEnd:
    given: dict[str, Any] = {
        "spider": "broad",
        "reason": "finished",
        "elapsed_seconds": 10.0,
        "tally": Tally(),
        "frontier": snapshot(),
        "directory": Path("crawls/x"),
        "report": Path("crawls/x/report.html"),
        "resume": "scrapy crawl broad -s JOBDIR=crawls/x",
    }
    return CrawlEnd(**(given | changed))


def test_outcomes_are_listed_with_their_breakdown() -> None:
    tally = Tally(
        pages=1000,
        bytes=29_000_000,
        failures=3,
        retries=2,
        refusals=70,
        statuses=Counter({200: 900, 404: 100}),
        errors=Counter({"timeout": 4, "dns": 1}),
        refused_by_rule=Counter({"extension": 60, "robots": 10}),
    )
    words = summary(ending(tally=tally)).split()
    text = " ".join(words)
    assert text.startswith("broad finished after 10.0 s")
    for expected in (
        "pages 1,000 100/s, 29.0 MB received",
        "status 200 900",
        "status 404 100",
        "failed 3 and 2 retried",
        "request errors 5 all attempts and robots.txt included timeout 4 dns 1",
        "refused 70 extension 60 robots 10",
        "left in queues 0",
    ):
        assert expected in text


def test_a_long_breakdown_is_cut_and_added_up() -> None:
    errors = Counter({f"error-{number:02}": 100 - number for number in range(20)})
    lines = summary(ending(tally=Tally(errors=errors))).splitlines()
    assert len([line for line in lines if line.startswith("    error-")]) == 8
    (rest,) = (line.split() for line in lines if "others" in line)
    assert rest == ["12", "others", f"{sum(100 - number for number in range(8, 20)):,}"]


def test_hosts_skipped_for_their_crawl_delay_are_named() -> None:
    tally = Tally()
    for number in range(6):
        tally.skip(f"h{number}.test", 600.0 + number)
    [line] = [line for line in summary(ending(tally=tally)).splitlines() if "hosts skipped" in line]
    assert "6  for their Crawl-delay: h5.test" in line
    assert line.endswith("and others")
    assert "skipped" not in summary(ending())


def test_urls_of_hosts_that_were_given_up_are_counted() -> None:
    told = summary(ending(frontier=snapshot(queued=9, given_up_hosts=2, given_up_urls=7)))
    assert "2 given up with 7 URLs, kept for the next start" in told


def test_what_is_left_can_be_gone_on_with() -> None:
    assert "to go on: scrapy crawl broad" in summary(ending(frontier=snapshot(queued=1)))
    assert "to go on" not in summary(ending())
    assert "to go on" not in summary(ending(frontier=snapshot(queued=1), resume=None))


def shared(workers: int, queued: int, reason: str = "shutdown") -> str:
    place = Shared("w1", "Redis at localhost:6379/0")
    return summary(ending(reason=reason, shared=place, frontier=snapshot(queued=queued, workers=workers)))


def test_a_worker_tells_its_own_figures_and_what_the_crawl_has_left() -> None:
    text = shared(workers=3, queued=7)
    assert text.startswith("broad, worker w1, was stopped after 10.0 s")
    assert "left in the whole crawl             7  0 hosts known\n" in text
    assert "its data is kept in crawls/x, see crawls/x/report.html\n" in text
    assert "stored on Redis at localhost:6379/0; 2 other workers running when this one ended\n" in text
    assert "to join again: scrapy crawl broad" in text


@pytest.mark.parametrize(("workers", "reason"), [(1, "shutdown"), (3, "stopped"), (3, "finished")])
def test_a_crawl_that_nobody_works_on_is_gone_on_with(workers: int, reason: str) -> None:
    text = shared(workers, 7, reason)
    assert "the crawl is stored on Redis at localhost:6379/0\n" in text
    assert "to go on: scrapy crawl broad" in text


def test_of_a_crawl_that_is_over_it_does_not_matter_where_it_was() -> None:
    assert "Redis" not in shared(workers=2, queued=0, reason="finished")


def test_hosts_that_were_given_up_are_told() -> None:
    assert "9 hosts known, 2 given up" in summary(ending(frontier=snapshot(known_hosts=9, given_up_hosts=2)))


@each_row(
    ("reason", "words"),
    [
        ("closespider_pagecount", "broad reached a limit (CLOSESPIDER_PAGECOUNT) after"),
        ("shutdown", "broad was stopped after"),
        ("unanticipated_errors", "broad had too many unanticipated errors"),
        ("enough", "broad ended (enough) after"),
    ],
)
def test_the_reason_is_told_in_words(reason: str, words: str) -> None:
    assert summary(ending(reason=reason)).startswith(words)


def test_a_crawl_that_never_ran_has_a_summary_too() -> None:
    assert summary(ending(elapsed_seconds=0.0, directory=None, report=None)).endswith("0 hosts known\n")


def test_that_there_were_no_errors_is_said_only_of_a_crawl_that_ended_well() -> None:
    assert "request errors 0" in " ".join(summary(ending()).split())
    for changed in (
        {"reason": "storage_lost", "trouble": "Redis answers with an error: WRONGTYPE"},
        {"reason": "finished", "trouble": "Redis answers with an error: WRONGTYPE"},
        {"reason": "unanticipated_errors", "unanticipated": 21},
        {"unanticipated": 1},
        {"reason": "start_error"},
    ):
        told = " ".join(summary(ending(**changed)).split())
        assert "request errors" not in told
        assert ("unanticipated errors" in told) is ("unanticipated" in changed)
        assert ("could not be stored: Redis answers with an error: WRONGTYPE" in told) is (
            "trouble" in changed
        )
    told = summary(ending(reason="storage_lost", tally=Tally(errors=Counter({"dns": 1}))))
    assert "request errors 1" in " ".join(told.split())


@each_row(
    ("rules", "errors", "line"),
    [
        (
            {"private-address": 1},
            {},
            "  nothing was fetched: every URL was refused, by private-address (localhost and private networks are "
            "fetched with -s FETCH_PRIVATE_ADDRESSES=1)",
        ),
        ({"contact": 2}, {}, "(the public web is crawled with -s CRAWLER_CONTACT=you@your.site)"),
        (
            {"robots": 1, "extension": 3},
            {},
            "refused, by extension and robots (the site's robots.txt forbids it)",
        ),
        ({}, {"private": 1}, "refused, by private (localhost and private networks are fetched with"),
    ],
)
def test_a_crawl_that_was_refused_everything_says_so_in_its_last_line(
    rules: dict[str, int], errors: dict[str, int], line: str
) -> None:
    tally = Tally(refusals=sum(rules.values()), refused_by_rule=Counter(rules), errors=Counter(errors))
    assert line in summary(ending(tally=tally, resume=None)).splitlines()[-1]


@each_row(
    "more", [{"pages": 1}, {"redirects": 1}, {"errors": Counter(dns=1)}, {"refused_by_rule": Counter()}]
)
def test_a_crawl_that_did_something_does_not(more: dict[str, Any]) -> None:
    tally = Tally(**{"refusals": 1, "refused_by_rule": Counter(robots=1)} | more)
    assert "nothing was fetched" not in summary(ending(tally=tally))
