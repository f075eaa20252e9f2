"""Fingerprints fit where they are stored and never change: they outlive the process that made them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.urls.fingerprint import fingerprint, fingerprint_all


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", 3244421341483603138),
        ("http://h.test/", -1424541921547379330),
        ("http://h.test/a?b=c", -1801863096392220015),
    ],
)
def test_a_fingerprint_is_the_same_in_every_version(url, expected):
    assert fingerprint(url) == expected


@given(st.text() | st.text(alphabet=st.characters(categories=("Cs",))))
def test_a_fingerprint_fits_a_signed_64_bit_number(url):
    assert -(2**63) <= fingerprint(url) < 2**63


def test_both_signs_occur():
    numbers = fingerprint_all([f"http://h.test/{number}" for number in range(100)])
    assert min(numbers) < 0 < max(numbers)
    assert len(set(numbers)) == 100
