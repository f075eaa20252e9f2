"""Where a crawl begins: URLs from a file, from the command line, from standard input."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from webcrawl.urls.hostname import hostname
from webcrawl.urls.listfile import LONGEST_LINE, Line, printable, read_lines
from webcrawl.urls.registrable import has_known_suffix, is_address, is_meant_as_host
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_HAS_SCHEME = re.compile(rf"\s*(?:https?:|{_SCHEME})", re.IGNORECASE).match
_HTTP = re.compile(r"https?:", re.IGNORECASE).match
_WITH_PORT = re.compile(r"(.+):(\d{1,5})", re.DOTALL).fullmatch
_COMMA_BEFORE_SCHEME = re.compile(rf",(?=\s*{_SCHEME})")


@dataclass(frozen=True, slots=True)
class Seed:
    """A URL to begin with, resolved. ``line`` is its line in the file, or its place in the list, from 1."""

    url: str
    line: int


@dataclass(frozen=True, slots=True)
class BadSeed:
    """A line that is no URL. ``text`` is cut to 200 characters and safe to print."""

    text: str
    line: int
    reason: str


class SeedsError(ValueError):
    """The seeds cannot be read at all, or there are none; the message names the source and says why."""


def read_seeds(source: str, stream: IO[bytes] | None = None) -> Iterator[Seed | BadSeed]:
    """Read the seeds of ``FILE``, ``URL[,URL...]`` or ``-``; the last is ``stream``, by default standard
    input.

    A file has one URL a line and is never in memory as a whole. A list is split at commas before a scheme,
    since a URL may contain commas. ``example.com`` stands for ``http://example.com/`` where its suffix is a
    known one, so a list of such names is split at every comma; a file of that name comes first. With a port it
    may be any name that is meant as one, or an address: ``localhost:8080``, ``10.0.0.5:8080``.

    Raises SeedsError at once for a source that cannot be read, and at the end for one that held nothing.
    """
    if not source.strip():
        raise SeedsError("no seeds were given")
    if source.strip() == "-":
        return _not_empty(_from_lines(read_lines(stream or sys.stdin.buffer)), "standard input")
    if _HAS_SCHEME(source):
        pieces = _COMMA_BEFORE_SCHEME.split(source.strip().rstrip(", "))
        return _not_empty(_from_list(pieces), "the list of seeds")
    reason = _why_unreadable(source)
    if reason is None:
        return _not_empty(_from_file(source), source)
    pieces = source.strip().strip(",").split(",")
    if all(_bare_root(piece.strip()) or _HAS_SCHEME(piece) for piece in pieces):
        return _not_empty(_from_list(pieces), "the list of seeds")
    raise SeedsError(f"cannot read the seeds in {source!r}: {reason}")


def _from_file(path: str) -> Iterator[Seed | BadSeed]:
    try:
        with Path(path).open("rb") as stream:
            yield from _from_lines(read_lines(stream))
    except OSError as error:
        raise SeedsError(f"cannot read the seeds in {path!r}: {error.strerror or error}") from error


def _from_list(pieces: Iterable[str]) -> Iterator[Seed | BadSeed]:
    return _from_lines(Line(place, piece.strip(), "") for place, piece in enumerate(pieces, start=1))


def _from_lines(lines: Iterable[Line]) -> Iterator[Seed | BadSeed]:
    return (read_seed(line.text, line.number) for line in lines)


def _not_empty(seeds: Iterator[Seed | BadSeed], where: str) -> Iterator[Seed | BadSeed]:
    empty = True
    for seed in seeds:
        empty = False
        yield seed
    if empty:
        raise SeedsError(f"there are no seeds in {where}: not one line that is neither blank nor a comment")


def read_seed(text: str, line: int = 1) -> Seed | BadSeed:
    """Read a single seed, without white space around it: a URL, or a host, alone or with a port.

    A host alone must be a name under a known suffix.
    """
    if len(text) >= LONGEST_LINE - 1:
        return _bad(text, line, f"longer than {LONGEST_LINE - 2} characters")
    if not _HTTP(text):
        root = _bare_root(text)
        return Seed(root, line) if root else _bad(text, line, "does not begin with http:// or https://")
    url = resolve(text, "about:blank")
    return Seed(url, line) if url else _bad(text, line, "no browser takes it for a URL")


def _bare_root(text: str) -> str | None:
    """Return the root of a mere host: of a name under a known public suffix, or of one with a port."""
    if "/" in text or "@" in text:
        return None
    with_port = _WITH_PORT(text)
    name, port = with_port.groups() if with_port else (text, None)
    host = hostname(name) if name.strip() == name else None
    if host is None or (":" in name and not name.startswith("[")):
        return None
    if port is None:
        return f"http://{host}/" if "." in text and not is_address(host) and has_known_suffix(host) else None
    # Nothing else than TLS is spoken there.
    scheme = "https" if int(port) == 443 else "http"
    return resolve(f"{scheme}://{host}:{port}/", "about:blank") if is_meant_as_host(host) else None


def _bad(text: str, line: int, reason: str) -> BadSeed:
    return BadSeed(printable(text), line, reason)


def _why_unreadable(path: str) -> str | None:
    """Say why a file cannot be read, without opening it: what comes through a pipe can be read only once."""
    try:
        if Path(path).is_dir():
            return "it is a directory"
        Path(path).stat()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None if os.access(path, os.R_OK) else "permission denied"
