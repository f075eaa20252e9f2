"""What is pushed for a crawl that runs: a URL as text, or a JSON object with a URL and what is to be made of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from webcrawl.urls.seeds import BadSeed, read_seed

LONGEST_ENTRY = 1 << 20
"""Bytes; a longer one is no entry."""
DEEPEST = 1 << 30
FIELDS = ("url", "priority", "depth", "meta", "dont_filter")


@dataclass(frozen=True, slots=True)
class Pushed:
    """An entry as understood. ``url`` is resolved."""

    url: str
    level: int = 0
    depth: int = 0
    repeat: bool = False
    """To be fetched although it may be known."""
    meta: dict[str, Any] = field(default_factory=dict)


def read_pushed(data: bytes, encoding: str = "utf-8") -> Pushed | str:
    """Read one entry: ``URL``, or ``{"url": URL, "priority": 0, "depth": 0, "meta": {}, "dont_filter": false}``.

    Returns in a sentence why it is none. Never raises, whatever the bytes are; ``encoding`` must be one.
    """
    if len(data) > LONGEST_ENTRY:
        return f"it is longer than {LONGEST_ENTRY} bytes"
    try:
        text = data.decode(encoding).strip().removeprefix("\ufeff")
    except UnicodeError:
        return f"it is no text in {encoding}"
    if not text:
        return "it is empty"
    return _from_object(text) if text[0] == "{" else _from_url(text)


def _from_url(text: str) -> Pushed | str:
    seed = read_seed(text)
    return f"it is no URL: {seed.reason}" if isinstance(seed, BadSeed) else Pushed(seed.url)


def _from_object(text: str) -> Pushed | str:
    try:
        given = json.loads(text)
    except ValueError as error:
        return f"it is no JSON: {error}"
    except RecursionError:
        return "it is no JSON: nested too deeply"
    if unknown := sorted(set(given) - set(FIELDS)):
        return f"{unknown[0]!r} is no field of it; there are {', '.join(FIELDS)}"
    url = given.get("url")
    if not isinstance(url, str):
        return "it has no url" if url is None else "its url is no text"
    found = _from_url(url.strip())
    return found if isinstance(found, str) else _with_fields(found.url, given)


def _with_fields(url: str, given: dict[str, Any]) -> Pushed | str:
    level, depth, repeat, meta = (
        default if (value := given.get(name)) is None else value
        for name, default in (("priority", 0), ("depth", 0), ("dont_filter", False), ("meta", {}))
    )
    if not _is_whole(level):
        return f"its priority must be a whole number, not {_shown(level)}"
    if not _is_whole(depth) or not 0 <= depth <= DEEPEST:
        return f"its depth must be a whole number from 0, not {_shown(depth)}"
    if not isinstance(repeat, bool):
        return f"its dont_filter must be true or false, not {_shown(repeat)}"
    if not isinstance(meta, dict):
        return f"its meta must be an object, not {_shown(meta)}"
    return Pushed(url, level, depth, repeat, meta)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)[:80]
