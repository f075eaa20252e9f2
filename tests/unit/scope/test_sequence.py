"""The sequence: the first rule that objects decides, and the verdict says which and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.scope.allow import AllowRule
from webcrawl.scope.depth import DepthRule
from webcrawl.scope.extension import ExtensionRule
from webcrawl.scope.length import LengthRule
from webcrawl.scope.private import PrivateAddressRule
from webcrawl.scope.rule import ALLOWED, Candidate, Verdict
from webcrawl.scope.scheme import SchemeRule
from webcrawl.scope.sequence import Scope
from webcrawl.urls.politeness_key import host_of


def candidate(url: str, depth: int = 0) -> Candidate:
    return Candidate(url, host_of(url), host_of(url), depth)


USUAL = Scope(
    [SchemeRule(), LengthRule(), DepthRule(3), ExtensionRule(), PrivateAddressRule(), AllowRule("test|10")]
)


def test_a_url_without_objections_is_allowed():
    assert USUAL.verdict(candidate("http://h.test/")) == ALLOWED == Verdict(True, None, None)


@pytest.mark.parametrize(
    ("url", "depth", "rule"),
    [
        ("http://h.test/" + "x" * 3000, 9, "length"),
        ("http://10.0.0.1/a.jpg", 9, "depth"),
        ("http://10.0.0.1/a.jpg", 3, "extension"),
        ("http://10.0.0.1/a", 3, "private-address"),
        ("http://o.example/a", 3, "allow"),
    ],
)
def test_the_first_rule_that_objects_decides_and_is_named(url, depth, rule):
    verdict = USUAL.verdict(candidate(url, depth))
    assert not verdict.allowed
    assert verdict.rule == rule
    assert verdict.detail


def test_rules_behind_the_decisive_one_are_not_asked():
    class Unasked:
        name = "unasked"

        def refuses(self, candidate: Candidate) -> str | None:
            raise AssertionError

    scope = Scope([DepthRule(1), Unasked()])
    assert scope.verdict(candidate("http://h.test/", 2)).rule == "depth"


def test_an_empty_detail_is_an_objection_too():
    class Silent:
        name = "silent"

        def refuses(self, candidate: Candidate) -> str | None:
            return ""

    assert Scope([Silent()]).verdict(candidate("http://h.test/")) == Verdict(False, "silent", "")


def test_without_rules_everything_is_in_scope():
    assert Scope([]).verdict(candidate("http://10.0.0.1/")) is ALLOWED


urls = st.sampled_from(["http://h.test/", "http://h.test/a.zip", "http://127.0.0.1/", "http://o.example/"])


@given(st.lists(st.tuples(urls, st.integers(0, 5))))
def test_the_links_of_a_page_get_the_verdicts_of_single_ones(page):
    links = [candidate(url, depth) for url, depth in page]
    assert USUAL.admit(links) == [USUAL.verdict(link) for link in links]


@given(urls, st.integers(0, 5))
def test_the_first_objection_among_the_words_of_all_rules_is_the_verdict(url, depth):
    words = USUAL.words(candidate(url, depth))
    assert [word.rule for word in words] == [rule.name for rule in USUAL.rules]
    first = next((word for word in words if word.objection is not None), None)
    verdict = USUAL.verdict(candidate(url, depth))
    assert (verdict.rule, verdict.detail) == ((first.rule, first.objection) if first else (None, None))
