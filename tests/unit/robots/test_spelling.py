"""How rules and URLs are written before they are compared."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.robots.spelling import ANY, END, Spelling, path_to_match, prepared
from webcrawl.robots.text import RobotsRule

DATA = Path(__file__).parents[2] / "data" / "robots"
PATHS: list[dict[str, str]] = tomllib.loads((DATA / "paths.toml").read_text("utf-8"))["path"]

AS_THEY_STAND = re.compile(r"/[A-Za-z0-9_.~=*-]+").fullmatch


@each_row("case", PATHS, ids=lambda case: ascii(case["written"]))
def test_paths_are_compared_in_one_form(case: dict[str, str]) -> None:
    assert path_to_match(case["written"]) == case["compared"]


@settings(deadline=None)
@given(st.text(max_size=60))
def test_the_form_of_a_path_is_final_and_printable(path: str) -> None:
    form = path_to_match(path)
    assert path_to_match(form) == form
    assert re.fullmatch(r"[\x21-\x7e]*", form)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=4), st.text(max_size=40))
def test_protego_is_shown_only_what_it_compares_as_it_stands(patterns: list[str], path: str) -> None:
    rules = prepared([RobotsRule(False, pattern, 1) for pattern in patterns])
    spelling = Spelling("".join(rule.pattern for rule in rules))
    for rule in rules:
        assert AS_THEY_STAND(spelling.written(rule.pattern))
        assert len(spelling.written(rule.pattern)) in (len(rule.pattern) + 1, 3 * len(rule.pattern) + 1)
    assert AS_THEY_STAND(spelling.written(path_to_match(path) + END))


def test_what_no_rule_has_is_all_one_character() -> None:
    spelling = Spelling("/ab" + END)
    assert spelling.written("/ab" + END) != spelling.written("/ax" + END)
    assert spelling.written("/ax" + END) == spelling.written("/a?" + END)


def test_hexadecimal_digits_keep_stars_and_octets_apart() -> None:
    every = "".join(chr(code) for code in range(33, 127))
    spelling = Spelling(every + END)
    assert spelling.written("a" + ANY + "\x11") == "/61-***11-"
