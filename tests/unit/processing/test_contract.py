"""What a module gives becomes a value that no file, feed or terminal minds."""

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing.text import line, lines
from webcrawl.processing.contract import ENTRIES_MAX, LINE_MAX, TEXT_MAX, FieldType, cleaned

HOSTILE = "a\x00b\x1b]0;t\x07\u202ec\ud800\u2028d\x85e\r\nf\tg\x9bh\ufeff"


@each_row(
    ("value", "kind", "expected"),
    [
        (HOSTILE, FieldType.LINE, "ab]0;tc d e f gh"),
        (HOSTILE, FieldType.TEXT, "ab]0;tc\nd\ne\nf\tgh"),
        ("x" * 5_000, FieldType.LINE, "x" * LINE_MAX),
        ("x" * (TEXT_MAX + 5), FieldType.TEXT, "x" * TEXT_MAX),
        (" \n", FieldType.LINE, None),
        ("", FieldType.TEXT, None),
        (None, FieldType.WHOLE, None),
        ("12", FieldType.WHOLE, 12),
        (2**63, FieldType.WHOLE, None),
        (1, FieldType.REAL, 1.0),
        (math.nan, FieldType.REAL, None),
        (math.inf, FieldType.REAL, None),
        (0, FieldType.FLAG, False),
        (["b", " a\n", "b", "\x1b"], FieldType.LINES, ["b", "a"]),
        ([], FieldType.LINES, None),
        (("x" for _ in range(9)), FieldType.LINES, ["x"]),
        ({"a\n": 1, "b": 2**70}, FieldType.COUNTS, {"a": 1}),
        ({"de": "/de", "x": ""}, FieldType.NAMED, {"de": "/de"}),
    ],
)
def test_values_are_made_what_their_kind_says(value, kind, expected):
    assert cleaned(value, kind) == expected


def test_lists_and_mappings_have_an_end():
    assert len(cleaned(map(str, range(10**9)), FieldType.LINES)) == ENTRIES_MAX
    assert len(cleaned({str(number): number for number in range(5_000)}, FieldType.COUNTS)) == ENTRIES_MAX


@each_row(
    ("value", "kind"),
    [
        (b"x", FieldType.LINE),
        (["x"], FieldType.TEXT),
        ("nine", FieldType.WHOLE),
        (math.inf, FieldType.WHOLE),
        ("x", FieldType.REAL),
        ("one", FieldType.LINES),
        ([1], FieldType.LINES),
        ({"a": "x"}, FieldType.COUNTS),
        ({"a": 1}, FieldType.NAMED),
        (3, FieldType.LINES),
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
