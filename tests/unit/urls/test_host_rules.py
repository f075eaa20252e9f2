"""Hosts under several names: every rule, their order, circles, files with wrong lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.urls.canonical import CanonicalRules, canonical, canonical_all
from webcrawl.urls.host_rules import KINDS, HostRule, HostRules, HostRulesError, load_host_rules

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
# One site under several names.
synonym   Mirror.test  example.org
endsWith  .example.net .example.org   # moved in 2019
startsWith www.
STARTSWITH m. mobile.
synonym mobile.example.org example.org
"""


@pytest.fixture
def rules(tmp_path: Path) -> HostRules:
    path = tmp_path / "hosts.txt"
    path.write_text(FILE)
    return load_host_rules(path)


@pytest.mark.parametrize(
    ("host", "known_as"),
    [
        ("www.example.org", "example.org"),
        ("www.www.example.org", "example.org"),
        ("a.example.net", "a.example.org"),
        ("www.example.net", "example.net"),
        ("mirror.test", "example.org"),
        ("www.mirror.test", "example.org"),
        ("m.example.org", "example.org"),
        ("m.other.org", "mobile.other.org"),
        ("example.org", "example.org"),
        ("www.", "www."),
        ("[::1]", "[::1]"),
    ],
)
def test_each_host_is_known_under_one_name(rules: HostRules, host: str, known_as: str) -> None:
    assert rules.known_as(host) == known_as


def test_every_step_is_told(rules: HostRules) -> None:
    assert [(rule.kind, name) for rule, name in rules.steps("www.m.example.org")] == [
        ("startsWith", "m.example.org"),
        ("startsWith", "mobile.example.org"),
        ("synonym", "example.org"),
    ]


def test_urls_are_compared_under_that_name_with_their_ports_and_schemes(rules: HostRules) -> None:
    compared = CanonicalRules(hosts=rules)
    urls = [
        "http://www.example.org:81/A?b#c",
        "https://mirror.test/",
        "http://[::1]:80/",
        "http://u.test/%7e",
    ]
    assert canonical_all(urls, compared) == [
        "http://example.org:81/A?b#c",
        "https://example.org/",
        "http://[::1]:80/",
        "http://u.test/~",
    ]
    assert CanonicalRules(hosts=HostRules([])).suspect.search("http://a.test/") is None


def test_every_wrong_line_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    wrong = [
        "begins www.",
        "startsWith",
        "synonym one.test",
        "endsWith a b c",
        "synonym ex\u00e4mple.test a.test",
    ]
    path.write_text("\n".join([*wrong, "startsWith ok."]))
    with pytest.raises(HostRulesError) as told:
        load_host_rules(path)
    lines = str(told.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["line 1", "line 2", "line 3", "line 4", "line 5"]
    assert "startsWith, endsWith or synonym" in lines[0]
    assert "xn--" in lines[4]
    with pytest.raises(HostRulesError, match="cannot be read"):
        load_host_rules(tmp_path / "none.txt")


NAMES = st.text("ab.", min_size=1, max_size=5)
RULES = st.lists(st.builds(HostRule, st.sampled_from(KINDS), NAMES, NAMES), max_size=6)


@given(RULES, NAMES)
def test_whatever_the_rules_a_name_is_known_as_one_that_is_known_as_itself(
    rules: list[HostRule], host: str
) -> None:
    known = HostRules(rules)
    assert known.known_as(known.known_as(host)) == known.known_as(host)


@given(RULES, NAMES)
def test_the_comparable_form_stays_as_it_is(rules: list[HostRule], host: str) -> None:
    compared = CanonicalRules(hosts=HostRules(rules))
    once = canonical(f"http://{host}/a%7e", compared)
    assert canonical(once, compared) == once
