"""Text files with one entry a line and ``#`` comments, as people and other programs make them."""

from __future__ import annotations

import io
import re
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE = 65_536
"""Characters of a line that are read; what is beyond them is skipped."""

_SHOWN = 200
_COMMENT = re.compile(r"\s#")


class Line(NamedTuple):
    """An entry of a list file. ``number`` counts all lines of the file, from 1."""

    number: int
    text: str
    comment: str


class WrongLine(NamedTuple):
    """An entry that could not be understood. ``text`` is cut short and safe to print."""

    number: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.reason}: {self.text}"


def printable(text: str, length_max: int | None = _SHOWN) -> str:
    """Return the beginning of a text from outside, with what could disturb a terminal or a log replaced."""
    return "".join([character if character.isprintable() else "\ufffd" for character in text[:length_max]])


def read_lines(stream: IO[bytes]) -> Iterator[Line]:
    """Yield the entries of a list file, one line in memory at a time.

    Blank lines and lines that begin with ``#`` are passed over; a ``#`` after white space begins a comment.
    Line ends may be LF, CRLF or CR, the encoding is UTF-8 with or without a BOM, and what is not is replaced
    by U+FFFD: no bytes make this raise. The stream stays open.
    """
    reader = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
    try:
        for number, raw in enumerate(iter(lambda: _line(reader), ""), start=1):
            text, comment = raw.strip(), ""
            if not text or text[0] == "#":
                continue
            if "#" in text and (mark := _COMMENT.search(text)):
                text, comment = text[: mark.start()].rstrip(), text[mark.end() :].strip()
            yield Line(number, text, comment)
    finally:
        reader.detach()


def _line(reader: io.TextIOWrapper) -> str:
    line = reader.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        rest = line
        while rest and rest[-1] != "\n":
            rest = reader.readline(LONGEST_LINE)
    return line
