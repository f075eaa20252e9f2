"""JSON-LD in HTML pages: what they say of themselves in the words of schema.org."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.head import first_moment
from webcrawl.processing.main_text import HTML

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

BLOCKS_MAX = 50
NODES_MAX = 2_000
"""Objects that are looked at of all blocks of a page."""
KEPT_MAX = 200_000
"""Characters of JSON that are kept; a page with more has its types alone."""


class JsonLd:
    """All blocks as one JSON array, the types in them, and dates, author and language where an object has them."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {
        "json_ld": "text",
        "json_ld_types": "lines",
        "author": "line",
        "published_at": "real",
        "modified_at": "real",
    }

    def process(self, content: Content) -> Mapping[str, Any]:
        if "ld+json" not in content.text:
            return {}
        blocks = list(_blocks(content.text))
        nodes = list(_nodes(blocks))
        kept = json.dumps(blocks, ensure_ascii=True, separators=(",", ":")) if blocks else ""
        return {
            "json_ld": kept if len(kept) <= KEPT_MAX else None,
            "json_ld_types": [name for node in nodes for name in _texts(node.get("@type"))],
            "author": next((name for node in nodes for name in _names(node.get("author"))), None),
            "published_at": first_moment(
                text for node in nodes for text in _texts(node.get("datePublished"))
            ),
            "modified_at": first_moment(text for node in nodes for text in _texts(node.get("dateModified"))),
        }


def _blocks(text: str) -> Iterator[Any]:
    """The values of all blocks that are JSON; what is none is left out."""
    from selectolax.lexbor import LexborHTMLParser

    found = LexborHTMLParser(text).css("script[type='application/ld+json' i]")
    for script in found[:BLOCKS_MAX]:
        try:
            # Line ends within texts are wrong and common.
            yield json.loads(script.text(), strict=False, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            continue


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value, the outer ones first."""
    waiting = deque([value])
    for _ in range(NODES_MAX):
        if not waiting:
            return
        each = waiting.popleft()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each[:NODES_MAX]


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


def _names(author: Any) -> Iterator[str]:
    for each in author if isinstance(author, list) else [author]:
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            yield from _texts(each.get("name"))
