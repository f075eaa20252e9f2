"""Robots directives that concern use: meta elements ``robots``, ``X-Robots-Tag`` and ``Robots-Tag``.

``webcrawl.robots.page_directives`` reads the three and names their sources. Followed here: Google's "Robots meta tag,
data-nosnippet, and X-Robots-Tag specifications" for ``noindex``, ``nosnippet`` and ``max-snippet``, whose text may
not be input of a model's answers either; DeviantArt's description of ``noai`` and ``noimageai``. ``noarchive`` and
a ``max-snippet`` above 0 are kept and decide nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.usage.statements import Statement, statement
from webcrawl.robots.page_directives import (
    LENGTH_MAX,
    items_of_field,
    items_of_header,
    items_of_meta,
    rules_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.features.usage.statements import Meaning

NAME = "robots"
KEPT = frozenset({"noindex", "none", "noai", "noimageai", "noarchive", "nocache", "nosnippet", "max-snippet"})
"""The rules that are kept."""

_NO_SEARCH: Meaning = (("search", False),)
_NO_INPUT: Meaning = (("ai-input", False),)
_NO_AI: Meaning = (("ai-input", False), ("train-ai", False))
_MEANINGS: dict[str, Meaning] = {
    "noindex": _NO_SEARCH,
    "none": _NO_SEARCH,
    "nosnippet": _NO_INPUT,
    "noai": _NO_AI,
}
_TOO_LONG: Meaning = (("search", False), ("ai-input", False), ("train-ai", False))


def in_header(
    lines: Iterable[str], newer_lines: Iterable[str], agents: Iterable[str], *, is_image: bool = False
) -> list[Statement]:
    """Return the statements of ``X-Robots-Tag`` and ``Robots-Tag`` lines for ``agents``, product tokens.

    ``noimageai`` decides about an image alone.
    """
    agents, lines = tuple(agents), list(lines)
    if sum(map(len, lines)) > LENGTH_MAX:
        return [statement(NAME, "header", "X-Robots-Tag: too long to be read", _TOO_LONG)]
    stated = list(_kept(items_of_header(lines, agents), "header", "X-Robots-Tag", is_image=is_image))
    if newer_lines:
        stated += _kept(items_of_field(newer_lines, agents), "header", "Robots-Tag", is_image=is_image)
    return stated


def in_meta(contents: Iterable[str]) -> list[Statement]:
    """Return the statements of meta elements that are addressed to all or to us."""
    contents = list(contents)
    if sum(map(len, contents)) > LENGTH_MAX:
        return [statement(NAME, "meta", "robots: too long to be read", _TOO_LONG)]
    return list(_kept(items_of_meta(contents), "meta", "robots", is_image=False))


def _kept(items: Iterable[str], place: str, name: str, *, is_image: bool) -> Iterator[Statement]:
    seen = set()
    for item in items:
        for rule, value in rules_in(item):
            if rule not in KEPT or (rule, value) in seen:
                continue
            seen.add((rule, value))
            meaning = _MEANINGS.get(rule, ())
            if rule == "max-snippet" and value == "0":
                meaning = _NO_INPUT
            elif rule == "noimageai" and is_image:
                meaning = _NO_AI
            text = f"{name}: {rule}" + (f":{value}" if value else "")
            yield statement(NAME, place, text, meaning)
