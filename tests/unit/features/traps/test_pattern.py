"""Which URLs are of one kind, and which of them speak of a time."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.features.traps.pattern import parse_shape
from webcrawl.features.traps.url_shape import Dated, calendar_stem, dated
from webcrawl.urls.resolve import resolve

CASES = json.loads((Path(__file__).parents[3] / "data/traps_patterns.json").read_text(encoding="utf-8"))


@each_row("case", CASES, ids=lambda case: case["url"])
def test_a_url_has_the_pattern_of_its_kind(case):
    shape = parse_shape(case["url"])
    if "same_as" in case:
        assert shape.pattern == parse_shape(case["same_as"]).pattern
    if "pattern" in case:
        assert shape.pattern == case["pattern"]
    if "parameters" in case:
        assert shape.parameters == case["parameters"]
    if "sessions" in case:
        assert list(shape.sessions) == case["sessions"]
    if "dated" in case:
        assert dated(shape) is Dated[case["dated"]]


def test_the_base_of_a_url_is_the_same_under_every_session():
    one = parse_shape("http://h.test/p/7;jsessionid=0A1B2C3D?b=2&a=1&sid=abc123def").base()
    assert one == parse_shape("http://h.test/p/7;jsessionid=FF00FF11?a=1&b=2&sid=zzz999yyy").base()
    assert one == parse_shape("http://h.test/p/7?a=1&b=2").base()
    assert one != parse_shape("http://h.test/p/8;jsessionid=0A1B2C3D?b=2&a=1&sid=abc123def").base()


def test_the_views_of_a_calendar_have_one_stem():
    views = ("/cal/2031/05/", "/cal/2031/05/12", "/cal/week/2031/20/", "/cal/2031")
    assert len({calendar_stem(parse_shape(f"http://h.test{view}")) for view in views}) == 1
    assert calendar_stem(parse_shape("http://h.test/cal/2031/05/party")) != calendar_stem(
        parse_shape("http://h.test/cal/2031/05/")
    )


@given(st.text(max_size=300))
def test_no_url_makes_it_raise(text):
    url = resolve(f"http://h.test/{text}", "about:blank")
    if url is not None:
        shape = parse_shape(url)
        assert shape.pattern.startswith("h.test/")
        assert isinstance(shape.base(), int)
        assert dated(shape) in Dated
        assert calendar_stem(shape)


@given(
    st.lists(st.sampled_from("abc"), min_size=4, max_size=40),
    st.lists(st.sampled_from("abc"), min_size=4, max_size=40),
)
def test_a_path_of_few_folders_that_grows_has_few_patterns(one, other):
    patterns = {parse_shape(f"http://h.test/x/{'/'.join(path)}/").pattern for path in (one, other)}
    # What stands before the first that is repeated is kept: never more than there are different ones.
    assert all(pattern.endswith("/+") and pattern.count("/") <= 5 for pattern in patterns)
