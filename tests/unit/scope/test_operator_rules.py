"""Rules that an operator chooses: what each refuses, and what files of expressions may hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.crawl.rules import USELESS_PATHS
from webcrawl.scope.patterns import ListedRule, Pattern, Patterns, PatternsError, UnlistedRule, load_patterns
from webcrawl.scope.port import PortRule
from webcrawl.scope.scope import Candidate, Rule
from webcrawl.scope.url_rules import RepeatsRule, SegmentsRule, TopLevelRule
from webcrawl.urls.politeness_key import get_host

CASES = json.loads((Path(__file__).parents[2] / "data/scope_choices.json").read_text())
RULES: list[Rule] = [
    ListedRule("useless-path", Patterns(load_patterns(USELESS_PATHS))),
    PortRule([80, 443, 8000]),
    SegmentsRule(3),
    RepeatsRule(3),
    TopLevelRule(["de", ".gov.uk"]),
]


def candidate(url: str) -> Candidate:
    return Candidate(url, get_host(url), "a key")


def patterns(*texts: str) -> Patterns:
    return Patterns(Pattern(number, text, "") for number, text in enumerate(texts, 1))


@each_row("rule", RULES, ids=lambda rule: rule.name)
def test_each_refuses_what_it_is_for_and_nothing_else(rule: Rule) -> None:
    cases = CASES[rule.name]
    assert [url for url in cases["refused"] if rule.refuses(candidate(url)) is None] == []
    assert [url for url in cases["allowed"] if rule.refuses(candidate(url)) is not None] == []


def test_the_expression_that_decided_is_told_with_its_line_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "deny.txt"
    path.write_text("# mine\n\n/print/   # twice the same\n/a.*/b$\n")
    rule = ListedRule("deny", Patterns(load_patterns(path)))
    assert rule.refuses(candidate("http://h.test/print/1")) == "line 3: /print/ (twice the same)"
    assert rule.refuses(candidate("http://h.test/a/print/b")) == "line 3: /print/ (twice the same)"
    assert rule.refuses(candidate("http://h.test/a/x/b")) == "line 4: /a.*/b$"
    assert rule.refuses(candidate("http://h.test/")) is None


def test_of_an_allow_file_one_expression_must_be_found() -> None:
    rule = UnlistedRule(patterns("/de/", r"^https://a\.test/"))
    assert rule.refuses(candidate("http://h.test/de/x")) is None
    assert rule.refuses(candidate("https://a.test/fr/")) is None
    assert rule.refuses(candidate("http://h.test/fr/")) == "none of 2 expressions is found"


def test_an_empty_file_refuses_nothing_and_allows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("# nothing\n")
    none = Patterns(load_patterns(path))
    assert len(none) == 0
    assert ListedRule("deny", none).refuses(candidate("http://h.test/")) is None
    assert UnlistedRule(none).refuses(candidate("http://h.test/")) is not None


def test_every_wrong_line_is_told_at_once_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_bytes(b"/good/\n(\n/a(?=b)/\n\\1\n/\xff/\n")
    with pytest.raises(PatternsError) as told:
        load_patterns(path)
    lines = str(told.value).splitlines()
    assert [re.search(r"line (\d+)", line)[1] for line in lines] == ["2", "3", "4"]  # type: ignore[index]
    assert all(str(path) in line and "RE2" in line for line in lines)
    with pytest.raises(PatternsError, match="cannot be read"):
        load_patterns(tmp_path / "none.txt")


def test_expressions_that_take_too_much_memory_together_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webcrawl.scope.patterns.MEMORY_BYTES", 1 << 20)
    with pytest.raises(PatternsError, match="5000 expressions take more than 1 MB together"):
        patterns(*[rf"/section-{number}/[a-z]+\?id=\d+$" for number in range(5000)])


def test_thousands_of_expressions_are_looked_for_at_once() -> None:
    many = patterns(*[rf"/section-{number}/[a-z]+\?id=\d+$" for number in range(5000)])
    assert many.first("http://h.test/section-4321/abc?id=77") == Pattern(
        4322, r"/section-4321/[a-z]+\?id=\d+$", ""
    )
    assert many.first("http://h.test/section-x/abc?id=77") is None


@given(st.text(max_size=60))
@example("\ud800")
@example("(" * 50)
def test_no_url_and_no_expression_makes_it_raise(text: str) -> None:
    path = Path("/dev/null")
    assert load_patterns(path) == []
    for rule in RULES:
        rule.refuses(Candidate(f"http://h.test/{text}", "h.test", "h.test"))
