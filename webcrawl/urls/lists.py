"""Readers of list files with one entry per line and ``#`` comments, and of host names as people write them."""

from __future__ import annotations

import io
import re
from typing import IO, TYPE_CHECKING, NamedTuple

from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator


LONGEST_LINE = 65_536
"""The number of characters of a line that are read; the rest is skipped."""

_SHOWN = 200
_COMMENT = re.compile(r"\s#")


class ListLine(NamedTuple):
    """An entry of a list file. ``number`` counts all lines of the file, from 1."""

    number: int
    text: str
    comment: str


class WrongLine(NamedTuple):
    """An invalid entry. ``text`` is cut and safe to print."""

    number: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.reason}: {self.text}"


def printable(text: str, length_max: int | None = _SHOWN) -> str:
    """Return the beginning of an untrusted text, without characters that could disturb a terminal or a log."""
    return "".join([character if character.isprintable() else "\ufffd" for character in text[:length_max]])


def escaped(text: str) -> str:
    """Return an untrusted text in one line, with escapes in place of characters that could disturb a terminal."""
    return "".join([character if character.isprintable() else repr(character)[1:-1] for character in text])


def read_lines(stream: IO[bytes]) -> Iterator[ListLine]:
    """Yield the entries of a list file, one line in memory at a time.

    Blank lines and lines that begin with ``#`` are skipped; a ``#`` after white space begins a comment. Line ends may
    be LF, CRLF or CR, the encoding is UTF-8 with or without a BOM, and invalid bytes are replaced by U+FFFD: no bytes
    make this raise. The stream stays open.
    """
    reader = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
    try:
        for number, raw in enumerate(iter(lambda: _line(reader), ""), start=1):
            text, comment = raw.strip(), ""
            if not text or text[0] == "#":
                continue
            if "#" in text and (mark := _COMMENT.search(text)):
                text, comment = text[: mark.start()].rstrip(), text[mark.end() :].strip()
            yield ListLine(number, text, comment)
    finally:
        reader.detach()


def _line(reader: io.TextIOWrapper) -> str:
    line = reader.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        rest = line
        while rest and rest[-1] != "\n":
            rest = reader.readline(LONGEST_LINE)
    return line


# The simple case: lower case, no punycode to be checked, and a last label that no browser takes for a number. It
# covers nearly every name in a list of a million.
_READY = re.compile(r"(?:https?://)?((?:(?!xn--)[a-z0-9_-]+\.)*(?!xn--)[a-z][a-z0-9_-]*)\.?/?").fullmatch
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*").fullmatch
_NUMBERS = re.compile(r"[0-9.]+").fullmatch


def hostname(text: str) -> str | None:
    """Return the host that ``text`` names, as in a resolved URL but without a final dot; None if there is none.

    A scheme (http or https), a port and a path are accepted and dropped, capitals and IDN are normalised. Text that
    only a lenient browser accepts as a host (``12345``, ``user@example.com``, ``a,b.com``) is rejected.
    """
    if ready := _READY(text):
        return ready[1]
    with_scheme = text if "://" in text else f"http://{text}"
    if "@" in text or (url := resolve(with_scheme, "about:blank")) is None:
        return None
    host = get_host(url)
    host = host.removesuffix(".")
    if host.startswith("["):
        return host
    if _NAME(host) is None or (_NUMBERS(host) and host not in text):
        return None
    return host
