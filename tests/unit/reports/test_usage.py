"""The table of what the pages of each site may be used for, and the sheet."""

from __future__ import annotations

import hashlib
from typing import Any

from webcrawl.export.usable import UsablePages
from webcrawl.reports.figures import digest
from webcrawl.reports.page import page as report
from webcrawl.reports.usage import SheetFacts, UsageTable, as_object, cells, largest, sheet


def line(url: str, usage: dict[str, Any] | None, **others: Any) -> dict[str, Any]:
    facts = {"url": url, "key": "k", "kind": "page", "status": 200, "start": 99.0, "end": 100.0, "bytes": 1}
    return facts | ({} if usage is None else {"usage": usage}) | others


def said(place: str, text: str, **verdicts: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): verdict for name, verdict in verdicts.items()}
    return {**named, "sources": [{"format": "x", "place": place, "text": text, **named}]}


LINES = [
    line("http://a.test/1", said("robots.txt:2", "Content-Usage: train-ai=n", train_ai="no"), withheld=True),
    line("http://a.test/2", said("header", "a|b", train_ai="yes", search="no"), end=200.0),
    line("http://b.test/1", {}),
    line("http://b.test/2", {}, status=304),
    line("http://b.test/3", None),
    line("http://b.test/4", {}, status=404),
    line("http://b.test/robots.txt", {}, kind="robots"),
    line("http://b.test/5", {}, status=None),
]


def table() -> UsageTable:
    counted = UsageTable()
    for each in LINES:
        counted.add(each)
    return counted


def test_the_verdicts_of_a_site_are_counted() -> None:
    counted = table()
    a, b = largest(counted.sites())
    assert as_object(a) == {
        "site": "a.test",
        "pages": 2,
        "withheld": 1,
        "search": {"yes": 0, "no": 1, "unknown": 1},
        "ai-input": {"yes": 0, "no": 0, "unknown": 2},
        "train-ai": {"yes": 1, "no": 1, "unknown": 0},
        "tdm": {"yes": 0, "no": 0, "unknown": 2},
        "sources": ["header: a|b", "robots.txt:2: Content-Usage: train-ai=n"],
    }
    assert cells(a) == ["a.test", "2", "no 1, ? 1", "?", "yes 1, no 1", "?", "1"]
    assert cells(b) == ["b.test", "2", "?", "?", "?", "?", "0"]
    assert (counted.recorded, counted.unrecorded, counted.total().pages) == (4, 1, 4)


def test_a_url_without_a_host_has_a_place_too() -> None:
    counted = UsageTable()
    counted.add(line("data:,text", {}))
    counted.add(line("http://damaged", {}))
    counted.add(line("http://[::1]:8/x", {}))
    assert [site.site for site in counted.sites()] == ["(no host)", "[::1]"]


def test_a_sheet_can_be_checked_and_signed() -> None:
    about = SheetFacts("crawl", "webcrawl 1", ("train-ai",), 300.0, "A. Person")
    lines = list(sheet(table(), about))
    assert "* Pages: 4, fetched from 1970-01-01 00:01:40 to 1970-01-01 00:03:20 UTC" in lines
    assert "* For: train-ai" in lines
    cells_of_a = "| a.test | 2 | no 1, ? 1 | ? | yes 1, no 1 | ? | 1 |"
    row = rf"{cells_of_a} header: a\|b; robots.txt:2: Content-Usage: train-ai=n |"
    assert row in lines
    text = (
        'http://a.test/1\t{"train-ai": "no"}\nhttp://a.test/2\t{"search": "no", "train-ai": "yes"}\n'
        "http://b.test/1\t{}\nhttp://b.test/2\t{}\n"
    )
    assert any(hashlib.sha256(text.encode()).hexdigest() in each for each in lines)
    assert lines[-1] == "Signed off by A. Person on 1970-01-01 00:05:00 UTC."
    assert list(sheet(table(), about._replace(signed_by="")))[-1].startswith("Signed off by ____")
    assert list(sheet(UsageTable(), about))[-1] == "No page with a record of its use."


def test_the_report_has_shares() -> None:
    figures = digest(iter(LINES))
    text = report(figures, "title")
    assert "Usage rights" in text
    assert figures.usage == {("train-ai", "no"): 1, ("train-ai", "yes"): 1, ("search", "no"): 1}
    assert "1 page (14.3%) withheld" not in text  # of pages with a record only
    assert f"1 page ({1 / figures.usage_recorded:.1%}) withheld" in text
    assert "Usage rights" not in report(digest(iter(LINES[2:3])), "title")


def test_which_lines_are_exported() -> None:
    urls = [each["url"] for each in LINES]
    assert [each["url"] for each in UsablePages().among(LINES)] == urls[1:]
    usable = UsablePages(("train-ai",))
    assert [each["url"] for each in usable.among(LINES)] == [*urls[1:6]]
    assert usable.left_out == 2
    strict = UsablePages(("train-ai",), refuses_unknown=True)
    assert [each["url"] for each in strict.among(LINES)] == [urls[1]]
    assert [each["url"] for each in UsablePages(("search",)).among(LINES)] == urls[2:6]
