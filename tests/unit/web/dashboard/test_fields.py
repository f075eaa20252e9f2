"""Values that endpoints take: what is right, what is wrong, and what the description says of them."""

from __future__ import annotations

import json

import pytest

from tests.rows import each_row
from webcrawl.web.access import Denial
from webcrawl.web.fields import Field, as_json, read_body, read_query

FIELDS = (
    Field(name="text", meaning="", least=1, most=5),
    Field(name="whole", meaning="", kind="integer", least=0, most=10, default=3),
    Field(name="real", meaning="", kind="number", least=0, nullable=True),
    Field(name="yes", meaning="", kind="boolean"),
    Field(name="many", meaning="", kind="strings", least=1, most=2, each_most=3),
    Field(name="any", meaning="", kind="scalar", most=5),
    Field(name="one", meaning="", choices=("a", "b")),
)


@each_row(
    ("name", "right", "wrong"),
    [
        ("text", ["a", "\u202e", "abcde"], ["", "abcdef", 1, None, True, [], "\0", "\ud800"]),
        ("whole", [0, 10], [-1, 11, 1.5, "1", True, None, 10**400, 10**5000]),
        ("real", [0, 0.5, 10**300, None], [-1, "1", False, [], 10**400]),
        ("yes", [True, False], [0, 1, "true", None]),
        ("many", [["a"], ["a", "abc"]], [[], ["a", "b", "c"], ["abcd"], [""], [1], "a", None, ["\0"]]),
        ("any", ["", "abcde", 1, 0.5, True, None], ["abcdef", [], {}, "\0", 10**400]),
        ("one", ["a", "b"], ["", "c", None, 1]),
    ],
)
def test_a_body_is_checked_by_its_fields(name, right, wrong):
    [field] = [one for one in FIELDS if one.name == name]
    for value in right:
        assert read_body(json.dumps({name: value}).encode(), FIELDS)[name] == value
    for value in wrong:
        with pytest.raises(Denial, match=f"^{name} must be ") as denied:
            field.checked(value)
        assert denied.value.status == 400
        assert len(denied.value.sentence) < 250


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("text=a%2Bb&whole=7", {"text": "a+b", "whole": 7}),
        ("real=1e3&yes=true", {"real": 1000.0, "yes": True}),
        ("one=b", {"one": "b"}),
    ],
)
def test_a_query_is_read_by_its_fields(query, values):
    found = read_query(query, FIELDS)
    assert {name: found[name] for name in values} == values
    assert found["whole"] == values.get("whole", 3)


@each_row(
    "query",
    [
        *("whole=1.0", "whole=1_0", "whole=%D9%A1", "whole=", "whole=nan", f"whole={'9' * 5000}"),
        *("real=nan", "real=inf", "real=1e400", "real=x", "yes=True", "yes=1", "one=A", "text="),
    ],
)
def test_a_wrong_query_is_refused(query):
    with pytest.raises(Denial) as denied:
        read_query(query, FIELDS)
    assert denied.value.status == 400
    assert denied.value.allowed == next(one.schema() for one in FIELDS if one.name == query.partition("=")[0])


def test_json_has_no_numbers_that_are_none_and_no_characters_beyond_ascii():
    value = {"a": [float("nan"), (float("inf"), 1.5)], "b": "\ud800é"}
    assert as_json(value) == b'{"a":[null,[null,1.5]],"b":"\\ud800\\u00e9"}'
