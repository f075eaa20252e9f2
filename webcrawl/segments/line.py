"""A URL of a queue as a line of a segment: a JSON object, in which what has its usual value is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.urls.resolve import resolve

Key = tuple[str, int]
"""Politeness key and fingerprint of a URL."""

_OWN = ("url", "key", "fingerprint", "position")
"""What each URL has of its own. Its position is its place among the lines, or is given anew."""
_USUAL = {item.name: item.default for item in fields(UrlEntry) if item.name not in _OWN}
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("fingerprint", "level", "depth", "redirects", "attempts"), (int,)),
    **{name: (str, type(None)) for name in ("via", "payload", "listed", "traits")},
    **dict.fromkeys(("url", "key", "kind"), (str,)),
    "repeat": (bool,),
}
_NOT_NEGATIVE = ("depth", "redirects", "attempts")
_LARGEST = 1 << 63
Row = tuple[Any, ...]
row_of: Callable[[UrlEntry], Row] = attrgetter(*(item.name for item in fields(UrlEntry)))
"""What ``UrlEntry`` would be made of again: plain values, for another process."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


class LineError(ValueError):
    """A line that is none of a segment; the message says why."""


def line_of(entry: UrlEntry) -> str:
    """The line of an entry, without its end. ASCII."""
    told: dict[str, Any] = {"url": entry.url, "key": entry.key, "fingerprint": entry.fingerprint}
    for name, usual in _USUAL.items():
        value = getattr(entry, name)
        if value != usual:
            told[name] = str(value) if name == "kind" else value
    return _encode(told)


def entry_of(line: str | bytes, complete: Callable[[str], Key]) -> UrlEntry:
    """The entry of a line. ``complete`` gives key and fingerprint of a URL, where a line has one of them not.

    :raises LineError: it has none
    """
    try:
        told = json.loads(line)
    except ValueError as error:
        raise LineError("is no JSON") from error
    if not isinstance(told, dict) or not isinstance(told.get("url"), str):
        raise LineError("is no object with a url")
    for name, value in told.items():
        if name not in _TYPES:
            raise LineError(f"has a field {name!r}, which is none of a segment")
        if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "repeat"):
            raise LineError(f"has a {name} of a wrong type")
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise LineError(f"has a {name} that is too large")
        if isinstance(value, int) and name in _NOT_NEGATIVE and value < 0:
            raise LineError(f"has a {name} less than 0")
    if told.get("kind", Kind.PAGE) not in (Kind.PAGE, Kind.SITEMAP):
        raise LineError(f"has a kind {told['kind']!r}; there are {Kind.PAGE} and {Kind.SITEMAP}")
    told["url"] = _resolved(told["url"])
    if "key" not in told or "fingerprint" not in told:
        key, fingerprint = complete(told["url"])
        told = {"key": key, "fingerprint": fingerprint, **told}
    return UrlEntry(**told)


def _resolved(url: str) -> str:
    if not url[:8].lower().startswith(("http://", "https://")):
        raise LineError("has a url that does not begin with http:// or https://")
    found = resolve(url, url)
    if found is None:
        raise LineError("has a url that no browser takes for one")
    return found
