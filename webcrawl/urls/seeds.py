"""Readers of seeds from a file, the command line or standard input, and of URLs that are pushed to a running crawl.

A pushed entry is a URL as text, or a JSON object with a URL and its options.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from webcrawl.urls.lists import LONGEST_LINE, ListLine, hostname, printable, read_lines
from webcrawl.urls.politeness_key import has_known_suffix, is_address, is_meant_as_host
from webcrawl.urls.resolve import resolve
from webcrawl.urls.schemes import WEB, Schemes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_HAS_SCHEME = re.compile(rf"\s*(?:https?:|{_SCHEME})", re.IGNORECASE).match
_HTTP = re.compile(r"https?:", re.IGNORECASE).match
_WITH_PORT = re.compile(r"(.+):(\d{1,5})", re.DOTALL).fullmatch
_COMMA_BEFORE_SCHEME = re.compile(rf",(?=\s*{_SCHEME})")


@dataclass(frozen=True, slots=True)
class Seed:
    """A resolved seed. ``line`` is its line in the file, or its position in the list, from 1."""

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


def read_seeds(
    source: str, stream: IO[bytes] | None = None, schemes: Schemes = WEB
) -> Iterator[Seed | BadSeed]:
    """Read the seeds of ``FILE``, ``URL[,URL...]`` or ``-``; the last is ``stream``, by default standard input.

    A file has one URL per line and is never in memory as a whole. A list is split at commas before a scheme, since a
    URL may contain commas. ``example.com`` stands for ``http://example.com/`` if its suffix is a known one, so a list
    of such names is split at every comma; a file of that name takes precedence. With a port it may be an address or
    any name that is accepted as a host: ``localhost:8080``, ``10.0.0.5:8080``. ``schemes`` are those of the crawl.

    Raises SeedsError at once for a source that cannot be read, and at the end for one without entries.
    """
    if not source.strip():
        raise SeedsError("no seeds were given")
    if source.strip() == "-":
        return _not_empty(_from_lines(read_lines(stream or sys.stdin.buffer), schemes), "standard input")
    if _HAS_SCHEME(source):
        pieces = _COMMA_BEFORE_SCHEME.split(source.strip().rstrip(", "))
        return _not_empty(_from_list(pieces, schemes), "the list of seeds")
    reason = _why_unreadable(source)
    if reason is None:
        return _not_empty(_from_file(source, schemes), source)
    pieces = source.strip().strip(",").split(",")
    if all(_bare_root(piece.strip()) or _HAS_SCHEME(piece) for piece in pieces):
        return _not_empty(_from_list(pieces, schemes), "the list of seeds")
    raise SeedsError(f"cannot read the seeds in {source!r}: {reason}")


def _from_file(path: str, schemes: Schemes) -> Iterator[Seed | BadSeed]:
    try:
        with Path(path).open("rb") as stream:
            yield from _from_lines(read_lines(stream), schemes)
    except OSError as error:
        raise SeedsError(f"cannot read the seeds in {path!r}: {error.strerror or error}") from error


def _from_list(pieces: Iterable[str], schemes: Schemes) -> Iterator[Seed | BadSeed]:
    lines = (ListLine(place, piece.strip(), "") for place, piece in enumerate(pieces, start=1))
    return _from_lines(lines, schemes)


def _from_lines(lines: Iterable[ListLine], schemes: Schemes) -> Iterator[Seed | BadSeed]:
    return (read_seed(line.text, line.number, schemes) for line in lines)


def _not_empty(seeds: Iterator[Seed | BadSeed], where: str) -> Iterator[Seed | BadSeed]:
    empty = True
    for seed in seeds:
        empty = False
        yield seed
    if empty:
        raise SeedsError(f"there are no seeds in {where}: not one line that is neither blank nor a comment")


def read_seed(text: str, line: int = 1, schemes: Schemes = WEB) -> Seed | BadSeed:
    """Read a single seed, without white space around it: a URL, or a host, alone or with a port.

    A host alone must be a name under a known suffix.
    """
    if len(text) >= LONGEST_LINE - 1:
        return _bad(text, line, f"longer than {LONGEST_LINE - 2} characters")
    if not _HTTP(text):
        root = _bare_root(text) or schemes.resolve(text, "about:blank")
        if root:
            return Seed(root, line)
        return _bad(text, line, f"does not begin with {' or '.join(f'{name}://' for name in schemes.names)}")
    url = resolve(text, "about:blank")
    return Seed(url, line) if url else _bad(text, line, "no browser takes it for a URL")


def _bare_root(text: str) -> str | None:
    """Return the root URL of a mere host: of a name under a known public suffix, or of one with a port."""
    if "/" in text or "@" in text:
        return None
    with_port = _WITH_PORT(text)
    name, port = with_port.groups() if with_port else (text, None)
    host = hostname(name) if name.strip() == name else None
    if host is None or (":" in name and not name.startswith("[")):
        return None
    if port is None:
        return f"http://{host}/" if "." in text and not is_address(host) and has_known_suffix(host) else None
    # That port is for TLS only.
    scheme = "https" if int(port) == 443 else "http"
    return resolve(f"{scheme}://{host}:{port}/", "about:blank") if is_meant_as_host(host) else None


def _bad(text: str, line: int, reason: str) -> BadSeed:
    return BadSeed(printable(text), line, reason)


def _why_unreadable(path: str) -> str | None:
    """Return why a file cannot be read, without opening it: a pipe can be read only once."""
    try:
        if Path(path).is_dir():
            return "it is a directory"
        Path(path).stat()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None if os.access(path, os.R_OK) else "permission denied"


LONGEST_ENTRY = 1 << 20
"""The longest entry in bytes."""
DEEPEST = 1 << 30
FIELDS = ("url", "priority", "depth", "meta", "dont_filter")


@dataclass(frozen=True, slots=True)
class Pushed:
    """A parsed entry. ``url`` is resolved."""

    url: str
    level: int = 0
    depth: int = 0
    repeat: bool = False
    """True to fetch it even if it is known."""
    meta: dict[str, Any] = field(default_factory=dict)


def read_pushed(data: bytes, encoding: str = "utf-8", schemes: Schemes = WEB) -> Pushed | str:
    """Parse one entry: ``URL``, or ``{"url": URL, "priority": 0, "depth": 0, "meta": {}, "dont_filter": false}``.

    Return the error as a sentence if it is invalid. Never raises, whatever the bytes are; ``encoding`` must be a
    known one.
    """
    if len(data) > LONGEST_ENTRY:
        return f"it is longer than {LONGEST_ENTRY} bytes"
    try:
        text = data.decode(encoding).strip().removeprefix("\ufeff")
    except UnicodeError:
        return f"it is no text in {encoding}"
    if not text:
        return "it is empty"
    return _from_object(text, schemes) if text[0] == "{" else _from_url(text, schemes)


def _from_url(text: str, schemes: Schemes) -> Pushed | str:
    seed = read_seed(text, schemes=schemes)
    return f"it is no URL: {seed.reason}" if isinstance(seed, BadSeed) else Pushed(seed.url)


def _from_object(text: str, schemes: Schemes) -> Pushed | str:
    try:
        fields = json.loads(text)
    except ValueError as error:
        return f"it is no JSON: {error}"
    except RecursionError:
        return "it is no JSON: nested too deeply"
    if unknown := sorted(set(fields) - set(FIELDS)):
        return f"{unknown[0]!r} is no field of it; there are {', '.join(FIELDS)}"
    url = fields.get("url")
    if not isinstance(url, str):
        return "it has no url" if url is None else "its url is no text"
    pushed = _from_url(url.strip(), schemes)
    return pushed if isinstance(pushed, str) else _with_fields(pushed.url, fields)


def _with_fields(url: str, values: dict[str, Any]) -> Pushed | str:
    level, depth, repeat, meta = (
        default if (value := values.get(name)) is None else value
        for name, default in (("priority", 0), ("depth", 0), ("dont_filter", False), ("meta", {}))
    )
    if not _is_whole(level):
        return f"its priority must be a whole number, not {_short_json(level)}"
    if not _is_whole(depth) or not 0 <= depth <= DEEPEST:
        return f"its depth must be a whole number from 0, not {_short_json(depth)}"
    if not isinstance(repeat, bool):
        return f"its dont_filter must be true or false, not {_short_json(repeat)}"
    if not isinstance(meta, dict):
        return f"its meta must be an object, not {_short_json(meta)}"
    return Pushed(url, level, depth, repeat, meta)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _short_json(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)[:80]
