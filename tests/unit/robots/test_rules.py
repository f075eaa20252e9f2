"""Which URLs a robots.txt allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from protego import Protego

from tests.rows import each_row
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots import spelling
from webcrawl.robots.rules import RobotsRules, RulesCache

DATA = Path(__file__).parents[2] / "data" / "robots"
CASES: list[dict[str, Any]] = tomllib.loads((DATA / "rules.toml").read_text("utf-8"))["case"]
ASKED = [
    (case, url, allowed)
    for case in CASES
    for allowed, urls in ((True, case.get("allowed", [])), (False, case.get("refused", [])))
    for url in urls
]

patterns = st.lists(st.sampled_from(["/", "a", "b", "*", "ab", "/a"]), max_size=6).map("".join)
patterns_with_escapes = st.lists(
    st.sampled_from(
        ["/", "a", "%61", "%", "%2", "%2F", "%2f", "*", "?", "&", "%26", "é", "%c3%a9", "E", "{", "~"]
    )
).map(lambda parts: "/" + "".join(parts))
rule_lists = st.lists(st.tuples(st.booleans(), patterns, st.sampled_from(["", "", "$"])), max_size=6)
paths = st.lists(st.sampled_from(["/", "a", "b", "ab", "c"]), max_size=8).map(
    lambda parts: "/" + "".join(parts)
)


# With a rule of all characters a file leaves none to respell others in.
EVERY_CHARACTER = "\nAllow: /zz" + "".join(chr(code) for code in range(33, 127) if chr(code) not in "#*")


texts_near_the_grammar = st.lists(
    st.sampled_from(["Allow", "Disallow", ":", " ", "/", "*", "$", "%", "2F", "?", "é", "\n", "#"])
).map(lambda parts: "User-agent: *\n" + "".join(parts))
urls_near_the_grammar = st.lists(
    st.sampled_from(["/", "%", "2F", "?", "a", "é", "$", "*", "#", "\ud800"])
).map(lambda parts: "https://example.com/" + "".join(parts))


def written(text: str) -> str:
    octets = "".join(
        char if char.isascii() else "".join(f"%{octet:02X}" for octet in char.encode()) for char in text
    )
    return re.sub("%[0-9A-Fa-f]{2}", lambda escape: escape[0].upper(), octets)


def rules_of(case: dict[str, Any]) -> RobotsRules:
    return RobotsRules(case["robots"], case.get("agent", "foobot"))


def text_of(rules: list[tuple[bool, str, str]]) -> str:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}{end}" for allow, pattern, end in rules]
    return "\n".join(["User-agent: *", *lines])


@each_row(("case", "url", "allowed"), ASKED, ids=[f"{case['name']} {url!r}" for case, url, _ in ASKED])
def test_the_case_table_holds(case: dict[str, Any], url: str, allowed: bool) -> None:
    rules = rules_of(case)
    for address in {url, f"https://www.example.com:8080{url}"} if url.startswith("/") else {url}:
        assert rules.allows(address) is allowed


@each_row("case", CASES, ids=lambda case: case["name"])
def test_the_case_table_holds_in_hexadecimal_digits(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling, "_UNTOUCHED", frozenset())
    rules = rules_of(case)
    assert [url for url in case.get("allowed", []) if not rules.allows(url)] == []
    assert [url for url in case.get("refused", []) if rules.allows(url)] == []


@each_row("case", CASES, ids=lambda case: case["name"])
def test_crawl_delay_and_sitemaps_are_those_of_the_case_table(case: dict[str, Any]) -> None:
    rules = rules_of(case)
    assert rules.crawl_delay_seconds == case.get("crawl_delay")
    if "sitemaps" in case or case["source"] != "2.2.4":
        assert list(rules.sitemaps) == case.get("sitemaps", [])


def test_the_case_table_is_large() -> None:
    assert len(ASKED) >= 120


@settings(deadline=None)
@given(rule_lists, paths, st.sampled_from(["", EVERY_CHARACTER]))
def test_the_decision_is_that_of_a_plain_reading_of_the_rfc(
    rules: list[tuple[bool, str, str]], path: str, more: str
) -> None:
    """RFC 9309, section 2.2.2, by regular expressions: the most octets decide, Allow wins a tie."""
    matching = [(0, True)]
    for allow, pattern, end in rules:
        expression = "".join(".*" if char == "*" else re.escape(char) for char in pattern)
        if pattern + end and re.match(expression + ("$" if end else ""), path):
            matching.append((len(pattern + end), allow))
    assert RobotsRules(text_of(rules) + more, "foobot").allows(path) is max(matching)[1]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.booleans(), patterns_with_escapes, st.sampled_from(["", "", "$"])), max_size=6),
    patterns_with_escapes,
)
@example([(False, "/*%", "")], "/a%20b")
@example([(False, "/", ""), (True, "/a%26", "")], "/a&")
@example([(False, "/a%26", ""), (True, "/a*", "")], "/a%26")
@example([(False, "/", ""), (True, "/%62", "")], "/b")
def test_nothing_is_let_through_that_googles_matcher_refuses(
    rules: list[tuple[bool, str, str]], path: str
) -> None:
    """Its rule: escapes in capitals and octets outside ASCII escaped, all else compared as it is written."""
    path = written(path)
    matching = [(0, True)]
    for allow, pattern, end in rules:
        expression = "".join(".*" if char == "*" else re.escape(char) for char in written(pattern))
        if re.match(expression + ("$" if end else ""), path):
            matching.append((len(written(pattern) + end), allow))
    if not max(matching)[1]:
        assert not RobotsRules(text_of(rules), "foobot").allows(path)


@settings(deadline=None)
@given(rule_lists.map(lambda rules: [rule for rule in rules if not rule[2]]), paths)
def test_protego_agrees_on_plain_files(rules: list[tuple[bool, str, str]], path: str) -> None:
    url = "https://example.com" + path
    assert RobotsRules(text_of(rules), "foobot").allows(url) is Protego.parse(text_of(rules)).can_fetch(
        url, "foobot"
    )


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=100), st.text(max_size=20))
def test_nothing_raises_whatever_the_text_the_url_and_the_agent(text: str, url: str, agent: str) -> None:
    rules = RobotsRules(text, agent)
    assert rules.allows(url) in (True, False)
    rules.line_for(url)


@settings(deadline=None)
@given(texts_near_the_grammar, urls_near_the_grammar)
def test_nothing_raises_near_the_grammar(text: str, url: str) -> None:
    RobotsRules(text, "foobot").allows(url)


@settings(deadline=None)
@given(texts_near_the_grammar, urls_near_the_grammar)
def test_the_line_told_is_one_that_says_what_was_decided(text: str, url: str) -> None:
    rules = RobotsRules(text, "foobot")
    line = rules.line_for(url)
    assert rules.allows(url) is (line is None or line.allow)


@settings(deadline=None)
@given(rule_lists, paths)
def test_the_line_told_decides_the_same_without_the_others(
    rules: list[tuple[bool, str, str]], path: str
) -> None:
    line = RobotsRules(text_of(rules), "foobot").line_for(path)
    for allow, pattern, end in rules:
        alone = RobotsRules(text_of([(False, pattern, end)]), "foobot")
        if line is not None and str(line) == f"{'Allow' if allow else 'Disallow'}: {pattern}{end}":
            assert not alone.allows(path)
        if line is None:
            assert allow is False or alone.allows(path)


def test_protego_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RobotsRules("User-agent: *\nDisallow: /x\n", "foobot")
    assert rules.allows("https://example.com/y")
    monkeypatch.setattr(Protego, "can_fetch", lambda *_: False)
    assert not rules.allows("https://example.com/y")


@each_row(
    ("line", "url"),
    [
        ("Disallow: /", "/obots.tx"),
        ("Disallow: /obs.x", "/obs.x/obots.tx"),
        ("Disallow: *", "//robots.txt"),
        ("Disallow: /", "/a/robots.txt"),
        ("Disallow: //", "//a"),
        ("Disallow: /?", "/?/robots.txt"),
    ],
)
def test_no_respelled_url_looks_like_another(line: str, url: str) -> None:
    assert not RobotsRules(f"User-agent: *\n{line}", "foobot").allows(url)


def test_an_escape_behind_a_star_forbids_in_doubt() -> None:
    """In the query "%2F" is one octet and the rule has three; Protego is given "/*?*/", which has five."""
    rules = RobotsRules("User-agent: *\nDisallow: /*%2F\nAllow: /*/a\nAllow: /*/bc", "foobot")
    assert not rules.allows("/?/a")
    assert rules.allows("/?/bc")


def test_the_deciding_line_can_be_told() -> None:
    rules = RobotsRules("User-agent: *\nDisallow: /x\nAllow: /x/*.html$\nDisallow: /y", "foobot")
    line = rules.line_for("https://example.com/x/a.html")
    assert line is not None
    assert (str(line), line.line, line.allow) == ("Allow: /x/*.html$", 3, True)
    assert str(rules.line_for("https://example.com/x")) == "Disallow: /x"
    assert rules.line_for("https://example.com/z") is None
    assert rules.line_for("https://example.com/robots.txt") is None


@pytest.mark.parametrize(
    ("bound", "value", "lines", "allowed", "refused"),
    [
        pytest.param(
            "MAX_WILDCARD_RULES",
            2,
            "Disallow: /a*b\nAllow: /c*d\nDisallow: /e*f\nAllow: /e*g\nDisallow: /h\nDisallow: /i*",
            "/a /j",
            "/ab /e /eeeeeg /h /i",
            id="too many wildcards",
        ),
        pytest.param(
            "MAX_PATTERN_LENGTH",
            4,
            "Disallow: /abcdef\nDisallow: /x\nAllow: /xyzxyz",
            "/ab",
            "/abcx /xyzxyz",
            id="a long pattern",
        ),
        pytest.param(
            "MAX_PATTERN_LENGTH",
            6,
            "Disallow: /abc%7Ed\nDisallow: /defg$h",
            "/ab",
            "/abc~d /defg$h",
            id="a pattern cut short has no half escape and no end",
        ),
        pytest.param(
            "MAX_PATTERN_LENGTH",
            6,
            "Disallow: /%C3%A9aaa\nAllow: /é\nAllow: /",
            "",
            "/éaaa",
            id="no allow wins over a disallow cut short",
        ),
        pytest.param(
            "MAX_WILDCARD_RULES",
            0,
            "Disallow: /e*fffff\nAllow: /eee\nAllow: /eeeeeee",
            "/eeeeeee",
            "/eee/fffff",
            id="a disallow cut at its star is as specific as written",
        ),
    ],
)
def test_beyond_a_bound_doubt_means_no(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: int, lines: str, allowed: str, refused: str
) -> None:
    monkeypatch.setattr(spelling, bound, value)
    rules = RobotsRules(f"User-agent: *\n{lines}", "foobot")
    assert [path for path in allowed.split() if not rules.allows(path)] == []
    assert [path for path in refused.split() if rules.allows(path)] == []


@each_row(
    "line",
    ["Disallow: /" + "*a" * 100_000 + "b", *(f"Disallow: /{'*a' * 20}{'a' * n}b" for n in (0, 1, 50))],
    ids=["one long line", "periodic", "periodic 1", "periodic 50"],
)
def test_hostile_patterns_are_matched_without_backtracking(line: str) -> None:
    rules = RobotsRules(f"User-agent: *\n{line}\n" * 50, "foobot")
    rules.allows("https://example.com/" + "a" * 2000)


def test_a_flood_of_agents_does_not_multiply_the_rules() -> None:
    agents = "".join(f"User-agent: bot{n}\n" for n in range(5_000))
    text = agents + "".join(f"Disallow: /{n}\n" for n in range(5_000))
    assert len(RobotsRules(text, "bot7")) == 5_000
    assert len(RobotsRules(text, "foobot")) == 0


def record(origin: str, fetched_at: float = 1.0, text: str = "User-agent: *\nDisallow: /x\n") -> RobotsRecord:
    return RobotsRecord(origin, "rules", fetched_at, fetched_at + 1, text)


def test_the_cache_parses_a_version_once() -> None:
    cache = RulesCache(2, "foobot")
    first = cache.rules(record("https://a.test"))
    assert cache.rules(record("https://a.test")) is first
    assert cache.rules(record("https://a.test", fetched_at=2.0)) is not first
    assert len(cache) == 1
    assert cache.agents == ("foobot",)


def test_the_cache_forgets_who_was_not_asked_for_longest() -> None:
    cache = RulesCache(2, "foobot")
    kept = cache.rules(record("https://a.test"))
    gone = cache.rules(record("https://b.test"))
    cache.rules(record("https://a.test"))
    cache.rules(record("https://c.test"))
    assert len(cache) == 2
    assert cache.rules(record("https://a.test")) is kept
    assert cache.rules(record("https://b.test")) is not gone


def test_a_few_enormous_files_do_not_fill_the_cache() -> None:
    cache = RulesCache(10, "foobot")
    enormous = "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(600))
    for n in range(10):
        cache.rules(record(f"https://{n}.test", text=enormous))
    assert len(cache) == 1
    for n in range(10):
        cache.rules(record(f"https://small{n}.test"))
    assert len(cache) == 10


def test_the_stars_of_a_pattern_count_in_the_cache() -> None:
    plain = RobotsRules("User-agent: *\nDisallow: /x\nAllow: /y", "foobot")
    starred = RobotsRules("User-agent: *\nDisallow: /" + "*ab" * 2_000, "foobot")
    assert plain.weight == len(plain) == 2
    assert len(starred) == 1
    assert starred.weight > 200


def test_origins_without_a_text_take_no_place_in_the_cache() -> None:
    cache = RulesCache(2, "foobot")
    assert cache.rules(record("https://a.test", text="")).allows("https://a.test/x")
    assert len(cache) == 0


def test_beyond_so_many_stars_in_all_rules_doubt_means_no() -> None:
    many = "".join(
        f"Disallow: /{number}{'*a' * 100}z\nAllow: /a{number}*{'*b' * 100}\n" for number in range(200)
    )
    rules = RobotsRules(f"User-agent: *\n{many}", "webcrawl")

    assert rules.allows("/0/nothing/of/it")
    assert not rules.allows("/199/nothing/of/it")
    assert not rules.allows("/0" + "a" * 100 + "z")


TWO_NAMES = """User-agent: foobot
Allow: /public/foo
Disallow: /foo
Crawl-delay: 3

User-agent: barbot
Disallow: /bar
Disallow: /public
Crawl-delay: 7

User-agent: *
Disallow: /all
"""


@pytest.mark.parametrize("names", [("foobot", "barbot"), ("barbot", "foobot")])
def test_two_names_may_fetch_what_both_may_with_the_longer_delay(names: tuple[str, str]) -> None:
    rules = RobotsRules(TWO_NAMES, *names)

    allowed = {path for path in ("/foo", "/bar", "/public/foo", "/all", "/") if rules.allows(path)}
    assert allowed == {"/all", "/"}
    assert rules.crawl_delay_seconds == 7.0
    assert str(rules.line_for("/foo")) == "Disallow: /foo"
    assert str(rules.line_for("/public/foo")) == "Disallow: /public"


@given(st.data())
def test_a_further_name_never_allows_more(data: st.DataObject) -> None:
    agents = ["foobot", "barbot", "*", "bazbot"]
    lines = data.draw(
        st.lists(
            st.builds(
                "{}: {}".format,
                st.sampled_from(["User-agent", "Allow", "Disallow"]),
                st.sampled_from([*agents, "/", "/a", "/ab", "/*b", "/a$"]),
            ),
            max_size=12,
        )
    )
    names = data.draw(st.lists(st.sampled_from(["foobot", "barbot", ""]), min_size=1, max_size=3))
    text, rules = "\n".join(lines), RobotsRules("\n".join(lines), *names)
    for path in ("/", "/a", "/ab", "/b"):
        assert rules.allows(path) is all(RobotsRules(text, name).allows(path) for name in names)
