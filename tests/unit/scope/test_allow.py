"""The allow rule: a regular expression that URLs must match somewhere."""

import pytest

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import AllowRule, PatternError


@each_row(
    ("pattern", "url", "allowed"),
    [
        ("", "http://h.test/", True),
        ("/docs/", "http://h.test/docs/a", True),
        ("/docs/", "http://h.test/blog/", False),
        (r"^https://", "http://h.test/", False),
        (r"\.html$", "http://h.test/a.html", True),
        (r"\.html$", "http://h.test/a.html?b", False),
        ("(?i)DOCS", "http://h.test/docs", True),
    ],
)
def test_a_url_in_which_nothing_matches_is_refused(pattern, url, allowed):
    detail = AllowRule(pattern).refuses(Candidate(url, "h.test", "h.test"))
    assert detail == (None if allowed else f"no match for {pattern}")


@each_row(
    ("pattern", "message"),
    [
        ("[abc", r"'\[abc' is no regular expression: unterminated character set at position 0"),
        ("a(b", r"missing \), unterminated subpattern at position 1"),
        ("ab**", "multiple repeat at position 3"),
        ("a{99999999999999999999}", "too much for a regular expression"),
    ],
)
def test_what_is_no_regular_expression_is_named_with_the_place_of_the_fault(pattern, message):
    with pytest.raises(PatternError, match=message) as caught:
        AllowRule(pattern)
    assert isinstance(caught.value, ValueError)
