"""What a module gives becomes a value that no file, feed or terminal minds."""

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.parsing.text import line, lines
from webcrawl.processing.contract import ENTRIES_MAX, LINE_MAX, TEXT_MAX, Kind, cleaned

HOSTILE = "a\x00b\x1b]0;t\x07\u202ec\ud800\u2028d\x85e\r\nf\tg\x9bh\ufeff"


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (HOSTILE, Kind.LINE, "ab]0;tc d e f gh"),
        (HOSTILE, Kind.TEXT, "ab]0;tc\nd\ne\nf\tgh"),
        ("x" * 5_000, Kind.LINE, "x" * LINE_MAX),
        ("x" * (TEXT_MAX + 5), Kind.TEXT, "x" * TEXT_MAX),
        (" \n", Kind.LINE, None),
        ("", Kind.TEXT, None),
        (None, Kind.WHOLE, None),
        ("12", Kind.WHOLE, 12),
        (2**63, Kind.WHOLE, None),
        (1, Kind.REAL, 1.0),
        (math.nan, Kind.REAL, None),
        (math.inf, Kind.REAL, None),
        (0, Kind.FLAG, False),
        (["b", " a\n", "b", "\x1b"], Kind.LINES, ["b", "a"]),
        ([], Kind.LINES, None),
        (("x" for _ in range(9)), Kind.LINES, ["x"]),
        ({"a\n": 1, "b": 2**70}, Kind.COUNTS, {"a": 1}),
        ({"de": "/de", "x": ""}, Kind.NAMED, {"de": "/de"}),
    ],
)
def test_values_are_made_what_their_kind_says(value, kind, expected):
    assert cleaned(value, kind) == expected


def test_lists_and_mappings_have_an_end():
    assert len(cleaned(map(str, range(10**9)), Kind.LINES)) == ENTRIES_MAX
    assert len(cleaned({str(number): number for number in range(5_000)}, Kind.COUNTS)) == ENTRIES_MAX


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"x", Kind.LINE),
        (["x"], Kind.TEXT),
        ("nine", Kind.WHOLE),
        (math.inf, Kind.WHOLE),
        ("x", Kind.REAL),
        ("one", Kind.LINES),
        ([1], Kind.LINES),
        ({"a": "x"}, Kind.COUNTS),
        ({"a": 1}, Kind.NAMED),
        (3, Kind.LINES),
    ],
)
def test_what_is_nothing_of_the_kind_is_refused(value, kind):
    with pytest.raises((TypeError, ValueError, AttributeError, OverflowError)):
        cleaned(value, kind)


@given(st.text(st.characters()))
def test_no_text_breaks_a_line_a_file_or_a_row(text):
    one, several = line(text, 100), lines(text, 100)
    assert len((one + ".").splitlines()) == 1
    assert not any((ord(char) < 32 and char not in "\n\t") or 126 < ord(char) < 160 for char in one + several)
    assert (several + ".").split("\n") == (several + ".").splitlines()
    assert json.loads(json.dumps(several, ensure_ascii=False).encode("utf-8")) == several
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow([one, several])
    assert list(csv.reader(io.StringIO(stream.getvalue(), newline=""))) == [[one, several]]
