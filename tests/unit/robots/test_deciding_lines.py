"""The lines of a robots.txt that decide: as they were written, and the verdict follows from them alone."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.robots.test_rules import (
    ASKED,
    rule_lists,
    texts_near_the_grammar,
    urls_near_the_grammar,
)
from webcrawl.robots.rules import Deciding, RobotsLine, RobotsRules, deciding

AGENT = "foobot"
FILE = """\
User-agent: *
Disallow: /  # all of it

USER-AGENT: Foobot/2.0
user-agent: other
Crawl-delay: 3
Disallow: /private
  allow :  /private/but*this$   # written oddly

User-agent: foobot
Disallow: /*.pdf
"""

agents = st.sampled_from(["*", "foobot", "FooBot/1.0", "other", "foo", "", "foobot x"])
lines = st.one_of(
    agents.map("User-agent: {}".format),
    st.tuples(
        st.sampled_from(["Allow", "Disallow", "disalow", "ALLOW "]),
        st.lists(st.sampled_from(["/", "a", "b", "*", "ab", "%2F", "?"]), max_size=5).map("".join),
        st.sampled_from(["", "", "$", " # why"]),
    ).map(lambda parts: f"{parts[0]}: {parts[1]}{parts[2]}"),
    st.sampled_from(["", "# a comment", "Crawl-delay: 2", "Sitemap: http://h.test/s.xml", "nonsense"]),
)
files = st.tuples(st.lists(lines, max_size=12), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda parts: parts[1].join(parts[0])
)
urls = st.lists(st.sampled_from(["/", "a", "b", "ab", "%2F", "?", "%61"]), max_size=6).map(
    lambda parts: "http://h.test/" + "".join(parts)
)


@each_row(
    ("url", "expected"),
    [
        ("http://h.test/open", Deciding(True)),
        (
            "http://h.test/private/x",
            Deciding(False, RobotsLine(7, "Disallow: /private"), (RobotsLine(4, "USER-AGENT: Foobot/2.0"),)),
        ),
        (
            "http://h.test/private/but/this",
            Deciding(
                True,
                RobotsLine(8, "  allow :  /private/but*this$   # written oddly"),
                (RobotsLine(4, "USER-AGENT: Foobot/2.0"),),
            ),
        ),
        (
            "http://h.test/a.pdf",
            Deciding(False, RobotsLine(11, "Disallow: /*.pdf"), (RobotsLine(10, "User-agent: foobot"),)),
        ),
        ("http://h.test/robots.txt", Deciding(True)),
    ],
)
def test_rule_and_group_are_told_as_they_stand(url: str, expected: Deciding) -> None:
    assert deciding(FILE, url, AGENT) == expected


def test_who_is_not_named_goes_by_the_group_of_everyone() -> None:
    found = deciding(FILE, "http://h.test/private/but/this", "unnamed")
    assert found == Deciding(
        False, RobotsLine(2, "Disallow: /  # all of it"), (RobotsLine(1, "User-agent: *"),)
    )


def assert_agrees(text: str, agent: str, url: str) -> None:
    found = deciding(text, url, agent)
    assert found.allowed == RobotsRules(text, agent).allows(url)
    if found.rule is None:
        assert found.allowed
        assert found.group == ()
        return
    written = re.split(r"\r\n|\r|\n", text)
    for line in (*found.group, found.rule):
        assert written[line.number - 1] == line.text
    assert found.group
    # These lines alone say the same, and without any rule all would be allowed: it is by them.
    alone = "\n".join(line.text for line in (*found.group, found.rule))
    assert RobotsRules(alone, agent).allows(url) == found.allowed
    assert RobotsRules(alone, agent).line_for(url) is not None


@given(files, urls)
def test_the_lines_alone_say_what_the_file_says(text: str, url: str) -> None:
    assert_agrees(text, AGENT, url)


@given(rule_lists, urls)
def test_no_rule_of_the_other_kind_that_matches_is_more_specific(
    rules: list[tuple[bool, str, str]], url: str
) -> None:
    text = "\n".join(
        ["User-agent: *", *(f"{'Allow' if allow else 'Disallow'}: {path}{end}" for allow, path, end in rules)]
    )
    found = deciding(text, url, AGENT)
    if found.rule is not None and not found.allowed:
        # Each Allow beside it, alone with it, gives way too.
        for line in text.split("\n"):
            if line.startswith("Allow"):
                assert not RobotsRules(f"User-agent: *\n{line}\n{found.rule.text}", AGENT).allows(url)


@given(texts_near_the_grammar, urls_near_the_grammar)
def test_any_text_has_an_answer(text: str, url: str) -> None:
    assert_agrees(text, AGENT, url)


@each_row(("case", "url", "allowed"), ASKED, ids=[f"{case['name']} {url!r}" for case, url, _ in ASKED])
def test_the_case_table_holds_by_its_lines(case: dict[str, Any], url: str, allowed: bool) -> None:
    assert deciding(case["robots"], url, case.get("agent", AGENT)).allowed == allowed
