"""A line of the link log tells what the page said, whatever that was, and cannot be broken by it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.archive.samples import record
from webcrawl.links.line import head, needle, parse, written
from webcrawl.urls.canonical import CanonicalRules, canonical
from webcrawl.urls.fingerprint import fingerprint

RULES = CanonicalRules()
ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            ["\ud800", "\udfff", "\n", "\r", "\x00", "\x1f", "\x7f", "\x85", "\u2028", '"', "\\", ","]
        ),
    ),
    max_size=12,
)
ROWS = st.lists(st.tuples(ODD, ODD, ODD, ODD), max_size=5)


@given(url=ODD, rows=ROWS)
@example(url="http://a.test/", rows=[("http://b.test/%7e", "a", '","', ""), ("http://b.test/", "a", "", "")])
@example(url="http://a.test/%7E", rows=[("http://b.test/", "a", "\\u001f", "\\")])
@example(url="http://a.test/?", rows=[("http://b.test/", "a", "x\x7f", "")])
def test_every_text_comes_back_and_the_line_is_plain_ascii(url, rows):
    made = written(record(url=url), rows, RULES)
    body, end = made.line[:-1], made.line[-1:]
    assert end == b"\n"
    assert all(0x20 <= byte < 0x7F for byte in body)
    read = parse(body)
    assert (read.page, read.at, read.status) == (url, round(record().end, 6), 200)
    assert [(link.to, link.type, link.text, link.rel) for link in read.links] == rows
    assert [link.canonical for link in read.links] == [canonical(row[0], RULES) for row in rows]
    assert read.canonical == canonical(url, RULES)
    assert head(body) == (read.mark, read.at) == (made.mark, read.at)
    assert [target & 0xFFFFFFFF for target in made.targets] == [
        fingerprint(link.canonical) & 0xFFFFFFFF for link in read.links
    ]
    assert all(needle(form) in body for form in [read.canonical, *(link.canonical for link in read.links)])
    assert json.loads(made.line)["to"] == [row[0] for row in rows]


@given(rows=ROWS, others=ROWS)
@example(rows=[("http://b.test/%7e", "a", "", "")], others=[("mailto:a?%7e", "a", '","', "")])
def test_links_of_other_schemes_stand_behind_and_are_their_own_form(rows, others):
    made = written(record(), rows, RULES, others)
    read = parse(made.line)
    assert [(link.to, link.type, link.text, link.rel) for link in read.links] == rows + others
    assert [link.canonical for link in read.links] == [
        *(canonical(row[0], RULES) for row in rows),
        *(row[0] for row in others),
    ]
    assert [target & 0xFFFFFFFF for target in made.targets] == [
        fingerprint(link.canonical) & 0xFFFFFFFF for link in read.links
    ]


def test_a_list_says_its_kind_and_its_part():
    url = "http://a.test/%7E"
    made = written(record(url=url, kind="sitemap"), [("http://b.test/", "sitemap", "", "")], RULES, (), 2)
    read = parse(made.line)
    assert (read.kind, read.part, read.canonical) == ("sitemap", 2, "http://a.test/~")
    assert head(made.line) == (read.mark, read.at)
    plain = parse(written(record(url=url), (), RULES).line)
    assert (plain.kind, plain.part) == ("page", None)


def test_what_the_author_asked_and_that_it_was_there_before_is_told_too():
    extra = {"noindex": True, "nofollow": True, "duplicate_of": "http://a.test/first", "attempt": 2}
    read = parse(written(record(extra=extra), (), RULES).line)
    assert (read.noindex, read.nofollow, read.duplicate_of) == (True, True, "http://a.test/first")
    assert read.links == []


@each_row(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b'{"page":1}',
        b'{"page":"","at":1,"status":200,"to":["a"],"type":[],"text":[],"rel":[]}',
    ],
)
def test_what_is_no_line_is_a_value_error(line):
    with pytest.raises(ValueError):  # noqa: PT011 - of json, of zip, or ours
        parse(line)


def test_what_is_no_line_has_no_head():
    with pytest.raises(ValueError, match="no line of a link log"):
        head(b'{"url":"http://a.test/"}')
