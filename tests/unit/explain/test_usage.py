"""What ``explain`` says about the use of a URL: the line that decides, now and when the page was fetched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.explain.test_account import NOW, RULES, TEXT, explained, robots, seen
from webcrawl.explain.account import ExaminedCrawl, Fate
from webcrawl.explain.as_text import as_text
from webcrawl.explain.logged_fetches import LoggedFetches
from webcrawl.storage.inspection import UrlSnapshot

SAYS = "User-agent: *\nContent-Usage: train-ai=n\n"
FETCHED = {
    "train-ai": "no",
    "tdm": "yes",
    "sources": [
        {
            "format": "Content-Usage",
            "place": "robots.txt:7",
            "text": "Content-Usage: train-ai=y",
            "train-ai": "yes",
        },
        {
            "format": "TDMRep",
            "place": "tdmrep.json:1",
            "text": "/ 1",
            "tdm": "no",
            "train-ai": "no",
            "overruled": True,
        },
        {"format": "TDMRep", "place": "meta", "text": "tdm-reservation: 0", "tdm": "yes"},
        {"format": "Content-Signal", "place": "header", "text": "ai-train=no\x1b", "train-ai": "no"},
    ],
}


def lines_of(snapshot: UrlSnapshot | None, **others: Any) -> list[str]:
    text = as_text(explained(snapshot, **others), ExaminedCrawl())
    _, found, rest = text.partition("\nusage\n")
    return [" ".join(line.split()) for line in rest.partition("\n\n")[0].splitlines()] if found else []


def test_the_line_of_robots_txt_that_decides() -> None:
    assert lines_of(seen(robots=robots(SAYS))) == [
        "robots.txt says now",
        "train-ai no <- robots.txt:2: Content-Usage: train-ai=n",
    ]
    assert lines_of(seen(robots=robots(TEXT))) == []
    assert lines_of(None) == []


def test_the_statements_about_the_page_that_was_fetched() -> None:
    line = {"status": 200, "end": NOW - 5, "kind": "page", "usage": FETCHED, "withheld": True}
    assert lines_of(None, visits=LoggedFetches(1, (line,))) == [
        "last page withheld: in the archive alone",
        "train-ai no <- header: ai-train=no\\x1b",
        "tdm yes <- meta: tdm-reservation: 0",
        "also robots.txt:7: Content-Usage: train-ai=y",
        "also tdmrep.json:1: / 1, overruled by a nearer place",
    ]
    silent = {**line, "usage": {}}
    assert "verdicts unknown: nothing is said" in lines_of(None, visits=LoggedFetches(1, (silent,)))


def test_a_url_is_not_requested_that_may_not_be_used() -> None:
    rules = replace(RULES, usage_refused=("train-ai",))
    explanation = explained(seen(robots=robots(SAYS)), rules=rules)
    assert (explanation.conclusion.fate, explanation.conclusion.rule) == (Fate.WILL_BE_REFUSED, "usage")
    assert explained(seen(robots=robots(SAYS))).conclusion.fate is Fate.WAITS
    unknown = seen(robots=robots(SAYS), known=False, record=None, entry=None)
    assert explained(unknown, rules=rules).conclusion.fate is Fate.WOULD_BE_REFUSED
    assert explained(unknown).conclusion.fate is Fate.WOULD_BE_QUEUED
