"""The sequence: the first rule that objects decides, and the verdict says which and why."""

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.scope.patterns import ListedRule, Pattern, Patterns
from webcrawl.scope.port import BadPortRule, PortRule
from webcrawl.scope.private import PrivateAddressRule
from webcrawl.scope.scope import ALLOWED, Candidate, LinkBatch, Scope, Verdict
from webcrawl.scope.url_rules import (
    AllowRule,
    ContactRule,
    DepthRule,
    ExtensionRule,
    LengthRule,
    OffsiteRule,
    RepeatsRule,
    SchemeRule,
    SegmentsRule,
    StayRule,
    TopLevelRule,
)
from webcrawl.scope.whitelist import Whitelist, WhitelistRule
from webcrawl.urls.politeness_key import get_host


def candidate(url: str, depth: int = 0) -> Candidate:
    return Candidate(url, get_host(url), get_host(url), depth)


USUAL = Scope(
    [SchemeRule(), LengthRule(), DepthRule(3), ExtensionRule(), PrivateAddressRule(), AllowRule("test|10")]
)


def test_a_url_without_objections_is_allowed():
    assert USUAL.verdict(candidate("http://h.test/")) == ALLOWED == Verdict(True, None, None)


@each_row(
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


def patterns(*texts: str) -> Patterns:
    return Patterns([Pattern(number, text, "") for number, text in enumerate(texts, start=1)])


EVERY_KIND = Scope(
    [
        SchemeRule(["http"]),
        PortRule([80, 443, 8080]),
        BadPortRule(),
        LengthRule(45),
        DepthRule(2),
        SegmentsRule(3),
        RepeatsRule(2),
        ExtensionRule(["zip", "tar.gz", "c++"]),
        PrivateAddressRule(),
        ContactRule(lambda host: host.endswith(".public")),
        OffsiteRule(["test", "public", "com", "10.0.0.1"]),
        TopLevelRule(["test", "public", "com"]),
        StayRule("host"),
        WhitelistRule(Whitelist("a.test,b.test,c.com,http://b.public")),
        ListedRule(
            "deny",
            Patterns(
                [Pattern(1, "secret$", ""), Pattern(2, "^http://a[.]test/x", ""), Pattern(3, "a.c", "")]
            ),
        ),
        ListedRule("ends", Patterns([Pattern(1, r"\Ahttp://b[.]test/z\z", "")])),
        ListedRule("flags", Patterns([Pattern(1, "(?-m:q$)", "")])),
        AllowRule("[^k]$"),
    ]
)
some_urls = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        ["a.test", "b.test", "w.b.test", "c.com", "b.public", "o.example", "10.0.0.1", "[::1]", "localhost"]
    ),
    st.sampled_from(["", "", ":8080", ":81", ":25"]),
    st.lists(
        st.sampled_from(
            [
                "x",
                "y",
                "secret",
                "a",
                "c",
                "z",
                "q",
                "k",
                "/",
                "/",
                ".zip",
                ".ZIP",
                ".tar.gz",
                "?",
                "b:",
                ".c++",
            ]
        ),
        max_size=9,
    ).map("".join),
)


@given(st.lists(some_urls, unique=True, max_size=6), st.integers(0, 3))
def test_the_links_of_a_page_get_the_verdicts_of_single_ones(page, depth):
    verdicts = [EVERY_KIND.verdict(candidate(url, depth)) for url in page]
    expected = {place: verdict for place, verdict in enumerate(verdicts) if not verdict.allowed}
    assert EVERY_KIND.refused(LinkBatch(page, depth, lambda host: host)) == expected


@given(st.sampled_from(EVERY_KIND.rules[:-1]), some_urls, st.integers(0, 3))
def test_a_rule_that_sees_at_one_look_that_it_refuses_nothing_is_right(rule, url, depth):
    if rule.refuses_none(LinkBatch([url], depth, lambda host: host)):
        assert rule.refuses(candidate(url, depth)) is None


@each_row("rule", EVERY_KIND.rules[:-3], ids=lambda rule: rule.name)
def test_an_ordinary_page_is_seen_through_at_one_look(rule):
    page = LinkBatch(["http://a.test/", "http://b.test/y?q=1", "http://w.b.test/y/z"], 1, lambda host: host)
    assert rule.refuses_none(page)


def test_rules_that_look_at_single_links_only_are_asked_about_each():
    scope = Scope([AllowRule("b")])
    page = LinkBatch(["http://a.test/", "http://b.test/"], 0, lambda host: host)
    assert list(scope.refused(page)) == [0]


@given(urls, st.integers(0, 5))
def test_the_first_objection_among_the_words_of_all_rules_is_the_verdict(url, depth):
    words = USUAL.words(candidate(url, depth))
    assert [word.rule for word in words] == [rule.name for rule in USUAL.rules]
    first = next((word for word in words if word.objection is not None), None)
    verdict = USUAL.verdict(candidate(url, depth))
    assert (verdict.rule, verdict.detail) == ((first.rule, first.objection) if first else (None, None))
