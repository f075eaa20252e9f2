"""Lists that people and programs write: any line ends, any bytes, comments."""

import io

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls.lists import LONGEST_LINE, ListLine, WrongLine, printable, read_lines


@each_row(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", [(1, "a", "")]),
        (b"a\nb\n", [(1, "a", ""), (2, "b", "")]),
        (b"a\r\n\r\nb\r\n", [(1, "a", ""), (3, "b", "")]),
        (b"a\rb", [(1, "a", ""), (2, "b", "")]),
        (b"\xef\xbb\xbfa\n", [(1, "a", "")]),
        (b"\xef\xbb\xbf# only a comment", []),
        (b"# x\n  # y\n a \n", [(3, "a", "")]),
        (b"a # why not", [(1, "a", "why not")]),
        (b"a\t#\n", [(1, "a", "")]),
        (b"a#b # c # d", [(1, "a#b", "c # d")]),
        (b"\xff\xfe\n", [(1, "\ufffd\ufffd", "")]),
        ("é".encode(), [(1, "é", "")]),
    ],
)
def test_the_entries_of_a_list_are_read_with_their_line_numbers(content, lines):
    assert [tuple(line) for line in read_lines(io.BytesIO(content))] == lines


@given(st.binary(), st.binary())
def test_no_bytes_make_reading_raise(one, other):
    for line in read_lines(io.BytesIO(one + b"\n" + other)):
        assert line.text.strip() == line.text != ""


def test_a_line_without_an_end_is_not_read_into_memory():
    class Endless(io.RawIOBase):
        """A gigabyte of one letter, which would take long to read and be much to keep."""

        left = 3 * LONGEST_LINE

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left)
            buffer[:size] = b"x" * size
            self.left -= size
            return size

    (line,) = read_lines(io.BufferedReader(Endless()))
    assert line == ListLine(1, "x" * LONGEST_LINE, "")


def test_the_line_after_an_overlong_one_has_its_number():
    content = b"x" * (2 * LONGEST_LINE) + b"\ny\n"
    assert [(line.number, len(line.text)) for line in read_lines(io.BytesIO(content))] == [
        (1, LONGEST_LINE),
        (2, 1),
    ]


def test_the_stream_stays_open():
    stream = io.BytesIO(b"a\n")
    assert len(list(read_lines(stream))) == 1
    assert not stream.closed


def test_what_is_shown_of_a_wrong_line_cannot_disturb_a_terminal():
    assert printable("a\x1b[31mé\n") == "a\ufffd[31mé\ufffd"
    assert len(printable("x" * 1000)) == 200
    assert str(WrongLine(3, "a b", "not a name")) == "line 3: not a name: a b"
