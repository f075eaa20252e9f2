"""The length rule."""

import pytest

from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import LengthRule


def of_length(length: int) -> Candidate:
    return Candidate("http://h.test/".ljust(length, "x"), "h.test", "h.test")


def test_a_url_of_the_limit_is_in_scope_and_one_byte_more_is_not():
    assert LengthRule().refuses(of_length(2083)) is None
    assert LengthRule().refuses(of_length(2084)) == "2084 bytes, 2083 allowed"


@pytest.mark.parametrize("length", [20, 100_000])
def test_no_limit_refuses_no_length(length):
    assert LengthRule(0).refuses(of_length(length)) is None
