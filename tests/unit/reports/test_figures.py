"""The fetch log boils down to figures, in bounded memory."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.reports import page
from webcrawl.reports.counting import HeavyHitters, TimeLine
from webcrawl.reports.figures import digest

if TYPE_CHECKING:
    from pathlib import Path


def line(**changed: Any) -> dict[str, Any]:
    given = {
        "start": 10.0,
        "end": 11.0,
        "url": "http://a.test/",
        "key": "a.test",
        "kind": "page",
        "bytes": 100,
    }
    return given | changed


LINES = [
    line(kind="robots", status=404, bytes=5),
    line(status=200, mime="text/html"),
    line(status=200, mime="text/html", truncated="length", end=12.5),
    line(status=404, mime="text/html", key="b.test"),
    line(error="timeout", bytes=0, start=8.0),
    {"odd": True},
]


def test_pages_statuses_errors_types_and_hosts_are_counted() -> None:
    figures = digest(LINES)
    assert (figures.requests, figures.pages, figures.failed, figures.truncated) == (6, 3, 2, 1)
    assert figures.bytes == 305
    assert figures.statuses.most(9) == [("200", 2), ("404", 1)]
    assert figures.errors.most(9) == [("None", 1), ("timeout", 1)]
    assert figures.mimes.most(9) == [("text/html", 2)]
    assert figures.hosts.ranked(9).most_pages == [(3, "a.test")]
    assert (figures.started_at, figures.ended_at) == (8.0, 12.5)


def test_hosts_that_are_skipped_and_hosts_that_fail_are_listed() -> None:
    asked = {"kind": "robots", "status": 200, "robots": "rules"}
    lines = [
        line(**asked, origin="http://slow.test", crawl_delay=600.0, skipped=True),
        line(**asked, origin="http://mended.test", crawl_delay=700.0, skipped=True),
        line(**{**asked, "status": 503, "robots": "unreachable"}, origin="http://slow.test"),
        line(**asked, origin="http://mended.test", crawl_delay=2.0),
        line(error="dns", kind="robots", key="dead.test"),
    ]
    figures = digest(lines)
    assert figures.skipped == {"http://slow.test": 600.0}
    assert figures.hosts.failing(9) == [(1, "dead.test", (("dns", 1),), "http://a.test/")]
    text = page.page(figures, "x")
    assert ">Skipped hosts</h2>" in text
    assert "http://slow.test" in text
    assert "mended.test" not in text
    assert ">Skipped hosts</h2>" not in page.page(digest(LINES), "x")


def test_extensions_that_never_were_that_of_a_text_are_advised_against() -> None:
    pages = [
        *[("http://h.test/a/%d.Bin?x=/y.html", "application/octet-stream")] * 12,
        *[("http://h.test/%d.data", "application/json")] * 11,
        ("http://h.test/%d.data", "text/html"),
        *[("http://h.test/%d.few", "image/x-few")] * 9,
        *[("http://h.test/v1.2/%d", "application/json"), ("http://h.test", "image/png")] * 20,
        *[("http://h.test/%d.unknown", None)] * 20,
    ]
    lines = [
        line(url=url.replace("%d", str(number)), mime=mime, status=200)
        for number, (url, mime) in enumerate(pages)
    ]
    figures = digest(lines)
    assert figures.useless_extensions(5) == [("bin", 12)]
    assert "Extensions that are never text" in page.page(figures, "a crawl")
    assert "Extensions that are never text" not in page.page(digest(lines[12:]), "a crawl")


def test_a_time_line_doubles_its_steps_and_loses_nothing() -> None:
    line = TimeLine(2, bins=10)
    for second in range(1000):
        line.add(1_700_000_000 + second, 1, 10)
    bins = line.bins()
    assert line.step_seconds == 128
    assert len(bins) <= 10
    assert sum(part[0] for part in bins) == 1000
    assert sum(part[1] for part in bins) == 10_000
    assert line.starts_at <= 1_700_000_000


def test_a_time_line_takes_what_comes_out_of_order_and_after_long_pauses() -> None:
    line = TimeLine(2, bins=4)
    for at in (1000, 5_000_000, 3, 2_000_000_000):
        line.add(at, 1, 0)
    assert sum(part[0] for part in line.bins()) == 4
    assert len(line.bins()) <= 4


def test_frequent_things_are_found_among_more_than_are_held() -> None:
    counts: HeavyHitters[int] = HeavyHitters(50)
    for number in range(20_000):
        counts.add(number + 1000)
        counts.add(number % 3)
    assert [thing for thing, _ in counts.most(3)] == [0, 1, 2]
    assert len(counts) < 100
    assert counts.total == 40_000
    for thing, count in counts.most(3):
        true = len(range(thing, 20_000, 3))
        assert count <= true <= count + counts.forgotten_most


def test_counts_of_few_things_are_exact() -> None:
    counts: HeavyHitters[str] = HeavyHitters(50)
    for letter in "abracadabra":
        counts.add(letter)
    assert counts.most(2) == [("a", 5), ("b", 2)]
    assert counts.forgotten_most == 0


@pytest.fixture
def jobdir(tmp_path: Path) -> Path:
    text = "".join(json.dumps(entry) + "\n" for entry in LINES)
    (tmp_path / "fetch.jsonl").write_text(text + "damage\n" + json.dumps(line(status=200))[:20], "utf-8")
    return tmp_path


def test_the_report_stands_alone_and_says_what_was_damaged(jobdir: Path) -> None:
    written = page.write(jobdir, "broad: crawl-1")
    text = written.read_text("utf-8")
    assert written == jobdir / "report.html"
    assert text.startswith("<!doctype html>")
    for expected in (
        "broad: crawl-1",
        "Pages and bits over time",
        "Hosts",
        "a.test",
        "cannot be read",
        "<svg",
    ):
        assert expected in text
    assert re.findall(r"(?:src|href|action)=[\"'](?!#)|url\(|@import", text) == []
    assert "<script" not in text
    assert sorted(path.name for path in jobdir.iterdir()) == ["fetch.jsonl", "report.html"]


def test_what_servers_sent_cannot_become_markup() -> None:
    hostile = line(status=200, mime="<script>alert(1)</script>", key='"><img src=x>')
    text = page.page(digest([hostile]), "<b>")
    assert "<script" not in text
    assert "<img" not in text
    assert "<b>" not in text


def test_a_crawl_without_requests_has_a_report_too() -> None:
    assert "No request has ended yet." in page.page(digest([]), "nothing")


def test_what_has_to_be_known_of_the_figures_stands_above_them() -> None:
    text = page.page(digest([]), "broad: worker w1", remark="of <one> worker")
    assert text.index("<h1>broad: worker w1</h1>\n<p>of &lt;one&gt; worker</p>") < text.index("No request")
