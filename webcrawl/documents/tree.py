"""The fast way: the whole page as a tree (Lexbor, by selectolax), asked for the elements of interest.

Lexbor builds the tree that a browser builds, and where the HTML standard makes that quadratic, hostile pages can
make it take seconds: every element that is left open is looked at again for those that follow. So only pages
that cannot be deep are given to it; ``stream`` reads the others.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import accumulate

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webcrawl.documents.findings import HREF_MAX, Findings, elements_of_interest

LENGTH_MAX = 1 << 19
"""Characters of a page that is read in one go."""

DEPTH_MAX = 1_000
"""Elements that may be open at a time: the worst page within this bound takes about 5 ms."""

_TAG = re.compile("<(/?)[a-zA-Z]")


def is_harmless(text: str) -> bool:
    """Whether a page is small enough, and surely not deep. It counts void elements as left open: doubt means no."""
    if len(text) > LENGTH_MAX:
        return False
    if text.count("<") <= DEPTH_MAX:
        return True
    steps = (-1 if slash else 1 for slash in _TAG.findall(text))
    return max(accumulate(steps), default=0) <= DEPTH_MAX


def read(text: str, findings: Findings) -> None:
    """Read the whole page."""
    room = findings.links_max if "a" in findings.types else 0
    found = findings.found
    for node in LexborHTMLParser(text).css(_selector(findings.types)):
        values = node.attributes
        href = values.get("href")
        # Of a hundred links a page nearly all are these, so they are not handed around.
        if href and node.tag == "a" and len(href) <= HREF_MAX and len(found) < room:
            rel = values.get("rel")
            found.append((href, "a", node.text() or _alternative(node), rel.lower() if rel else ""))
        else:
            findings.element(node.tag or "", values, partial(_text_of, node))


def _text_of(node: LexborNode) -> str:
    return node.text() or _alternative(node)


def _alternative(node: LexborNode) -> str:
    """The ``alt`` of the first image in an element that holds no text."""
    image = node.css_first("img[alt]")
    return "" if image is None else image.attributes.get("alt") or ""


@lru_cache(maxsize=64)
def _selector(types: frozenset[str]) -> str:
    return ",".join(sorted(elements_of_interest(types)))
