"""A report opens with what crawl it is, how it ended, five figures, and whether it was polite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from tests.unit.reports.log_lines import T0, line, robots
from webcrawl.reports import page, run_log
from webcrawl.reports.figures import digest
from webcrawl.reports.run_log import Run
from webcrawl.reports.sections.head import ReportFacts
from webcrawl.reports.standing import CrawlState, folder_state

if TYPE_CHECKING:
    from pathlib import Path

RUN = Run(T0 - 3, "broad", "w1", "http://a.test/", "testbot (+mailto:me@a.test)", "9.8.7")
LINES = [
    robots(0),
    line(6, "/x"),
    line(12, "/y", status=None, error="timeout", bytes=0),
    line(18, "/z", status=None, error="timeout", bytes=0),
]


def shown(about: ReportFacts, *lines: dict[str, Any]) -> Any:
    return html.fromstring(page.page(digest(lines or LINES), "first", about=about))


def facts(found: Any) -> dict[str, str]:
    rows = found.xpath("//dl[@class='facts']/div")
    return {row.xpath("string(dt)"): row.xpath("string(dd)") for row in rows}


def test_what_crawl_it_is_stands_above_all() -> None:
    ended = Run(
        **{name: getattr(RUN, name) for name in RUN.__slots__} | {"ended_at": T0 + 20, "reason": "finished"}
    )
    found = shown(ReportFacts([ended], [CrawlState.ENDED], T0 - 3, T0 + 99, ["crawls/first"], {}))
    assert found.xpath("string(//title)") == found.xpath("string(//h1)") == "first"
    assert facts(found) == {
        "spider": "broad",
        "seeds": "http://a.test/",
        "User-Agent": "testbot (+mailto:me@a.test)",
        "version": "webcrawl 9.8.7",
        "begun": "2026-09-21 14:13:17 UTC",
        "ended": "finished, 2026-09-21 14:13:40 UTC",
        "report made": "2026-09-21 14:14:59 UTC",
        "requests": "4: pages 3, robots.txt 1",
        "pages per second, mean": "3.2/min",
        "bits per second, mean": "86 bit/s",
    }


def test_the_five_figures_are_large() -> None:
    large = shown(ReportFacts()).xpath("//dl[@class='large']/div")
    assert [(one.xpath("string(dd)"), one.xpath("string(dt)")) for one in large] == [
        ("1", "pages"),
        ("1", "host"),
        ("2", "errors"),
        ("200", "B received"),
        ("18.5 s", "duration"),
    ]


@pytest.mark.parametrize(
    ("violations", "sentence"),
    [
        (
            {},
            "✓ Polite: 3 gaps between requests to the same site, none too short; no page without its robots.txt",
        ),
        (
            {"early": 2, "overlap": 1, "robots": 4},
            "✗ Not polite: 3 requests too early and 4 requests without a valid robots.txt, 3 gaps in all. "
            "scrapy audit 'my crawl' lists them",
        ),
        (None, ""),
    ],
)
def test_the_verdict_is_that_of_the_audit(violations: dict[str, int] | None, sentence: str) -> None:
    about = ReportFacts(folders=["my crawl"], violations=violations)
    assert shown(about).xpath("string(//p[starts-with(@class, 'verdict')])") == sentence


def test_errors_and_failing_hosts_name_urls_and_the_commands_to_look_further() -> None:
    found = shown(ReportFacts(folders=["crawls/first"]))
    assert found.xpath("//section[h2='Errors']//li/text()") == ["http://a.test/y", "http://a.test/z"]
    assert found.xpath("//section[h2='Errors']//code/text()") == [
        "scrapy explain http://a.test/y -s JOBDIR=crawls/first"
    ]
    assert found.xpath("string(//section[h2='Failing hosts']//tbody/tr/td[last()])") == "http://a.test/y"
    assert found.xpath("//section[h2='Failing hosts']//code/text()") == [
        "scrapy complaint a.test crawls/first"
    ]
    shared = ReportFacts([Run(T0, "broad", "w1", crawl="broad on Redis")], [CrawlState.ENDED], folders=["w1"])
    assert shared.explain("http://a.test/?a&b") == "scrapy explain 'http://a.test/?a&b' -s REDIS_URL=..."


def test_how_workers_ended_is_said_of_each_unless_they_ended_alike() -> None:
    def ending(*of: tuple[str, CrawlState, str | None]) -> str:
        runs = [
            Run(T0, "broad", name, ended_at=T0 if reason else None, reason=reason) for name, _, reason in of
        ]
        return facts(shown(ReportFacts(runs, [state for _, state, _ in of])))["ended"]

    at = "2026-09-21 14:13:20 UTC"
    finished = ("w1", CrawlState.ENDED, "finished"), ("w2", CrawlState.ENDED, "finished")
    assert ending(*finished) == f"finished, {at}"
    assert ending(*finished, ("w3", CrawlState.KILLED, None)) == (
        f"w1, w2: finished, {at}; w3: killed: its last run has no end on record"
    )
    running = ReportFacts([RUN], [CrawlState.RUNNING])
    assert facts(shown(running))["state"] == "running when this report was made"


def test_a_ranking_of_one_is_a_line() -> None:
    found = shown(ReportFacts(), line(0), line(9))
    assert "Status of pages" not in found.xpath("//h2/text()")
    [status] = [one for one in found.xpath("//p[@class='line']") if "Status" in one.text_content()]
    assert status.text_content() == "Status of pages 200: all 2 pages by HTTP status"
    assert "Status of pages" in shown(ReportFacts(), line(0), line(9, status=404)).xpath("//h2/text()")


def test_the_runs_of_a_crawl_are_read_back(tmp_path: Path) -> None:
    assert run_log.read(tmp_path) == []
    run_log.begin(tmp_path, RUN)
    [run] = run_log.read(tmp_path)
    assert run == RUN
    assert (folder_state(run, T0), folder_state(run, None)) == (CrawlState.RUNNING, CrawlState.KILLED)
    run_log.end(tmp_path, T0 + 5, "shutdown")
    with (tmp_path / run_log.NAME).open("a") as file:
        file.write('{"begun_at": "soon"}\n{"begun')
    run_log.begin(tmp_path, RUN)
    first, second = run_log.read(tmp_path)
    assert (first.ended_at, first.reason, second.ended_at) == (T0 + 5, "shutdown", None)
    assert folder_state(first, T0 + 5) is CrawlState.ENDED, "it still writes its report"
    assert folder_state(first, T0 + 6) is CrawlState.RUNNING, "another process has just started"
