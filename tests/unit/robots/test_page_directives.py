"""What pages ask of robots is understood as the field means it; cases in tests/data/documents/robots_tags.toml."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.robots.page_directives import NOTHING, RobotsTags, of_field, of_header, of_meta

FILE = Path(__file__).parents[2] / "data/documents/robots_tags.toml"
CASES = tomllib.loads(FILE.read_text("utf-8"))["case"]
NOW = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()
NAMES = [case["name"] for case in CASES]

# What rules are strewn from.
pieces = st.sampled_from(
    [
        *(
            "noindex",
            "none",
            "unavailable_after",
            "webcrawl",
            "otherbot",
            ":",
            ":",
            ",",
            ",",
            " ",
            ";",
            "Fri",
        ),
        *("25 Jun 2010 15:00:00 GMT", "2010-06-25", "max-snippet", "-", "9" * 5000),
    ]
)
lines = st.lists(st.lists(pieces | st.text(max_size=5), max_size=12).map("".join), max_size=4)


@each_row("case", CASES, ids=NAMES)
def test_a_header_asks_what_the_table_says(case: dict[str, list[str]]) -> None:
    asked = of_header(case["header"], ["WebCrawl"], NOW)
    assert asked == RobotsTags("noindex" in case["asks"], "nofollow" in case["asks"])
    assert sorted(asked.facts()) == sorted(case["asks"])


@each_row("case", [case for case in CASES if "meta" in case], ids=lambda case: str(case["name"]))
def test_meta_elements_ask_what_the_table_says(case: dict[str, list[str]]) -> None:
    assert of_meta(case["meta"], NOW) == RobotsTags("noindex" in case["asks"], "nofollow" in case["asks"])


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES) > 30


def test_without_a_product_token_only_what_is_for_all_counts() -> None:
    assert of_header(["webcrawl: noindex", "nofollow"], [""], NOW) == RobotsTags(nofollow=True)


@given(lines)
def test_nothing_makes_it_raise_and_a_word_to_all_is_always_heard(found: list[str]) -> None:
    for asked in (of_header(found, ["webcrawl"], NOW), of_meta(found, NOW)):
        assert isinstance(asked, RobotsTags)
    assert of_header([*found, "noindex"], ["webcrawl"], NOW).noindex
    assert of_meta([*found, "nofollow"], NOW).nofollow
    assert of_header([], ["webcrawl"], NOW) == NOTHING


@given(lines)
def test_more_that_is_said_takes_nothing_back(found: list[str]) -> None:
    for read in (lambda some: of_header(some, ["webcrawl"], NOW), lambda some: of_meta(some, NOW)):
        whole, begun = read(found), read(found[:-1])
        assert whole | begun == whole


@each_row(
    ("lines", "noindex", "nofollow"),
    [
        # draft-illyes-repext-03, section 3.1.1
        (["*;nosnippet, ExampleBot;noindex"], False, False),
        (["*;noindex"], True, False),
        (["*;noindex;nofollow"], True, True),
        (["webcrawl;nofollow"], False, True),
        (["WebCrawl;nofollow"], False, True),
        (['"webcrawl";nofollow'], False, True),
        # The union of all members and lines that apply
        (["webcrawl;nosnippet, *;noindex", "webcrawl;nofollow"], True, True),
        (["*;noindex=?0"], False, False),
        (["*;unavailable_after=@1000"], True, False),
        (["*;unavailable_after=@9000000000"], False, False),
        # A rule without an agent, and what is no list
        (["noindex, nofollow"], True, True),
        (["none"], True, True),
        (["otherbot:noindex"], False, False),
        (["webcrawl:noindex"], True, False),
        (["*;NoIndex"], True, False),
        (["*;noindex,"], True, False),
        (["*;noindex;;"], True, False),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], True, False),
        ([""], False, False),
        (["\x00é"], False, False),
        (["(noindex)"], False, False),
        # Members that are whole within the limit count, and no others
        (["*;noindex, " + "a;b, " * 10_000], True, False),
        (["a;b, " * 10_000 + "*;noindex"], False, False),
    ],
)
def test_the_newer_field(lines, noindex, nofollow):
    tags = of_field(lines, ["webcrawl"], NOW)
    assert tags == (noindex, nofollow)
