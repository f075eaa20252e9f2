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

from webcrawl.documents.findings import Findings, elements_of_interest

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
    anchors = "a" in findings.types
    for node in LexborHTMLParser(text).css(_selector(findings.types)):
        values = node.attributes
        if node.tag == "a" and "href" in values:
            if anchors:
                findings.add(values["href"], "a", text_of(node), (values.get("rel") or "").lower())
        else:
            findings.element(node.tag or "", values, partial(text_of, node))


def text_of(node: LexborNode) -> str:
    """What is written inside an element, or else the ``alt`` of the first image in it that has one."""
    text = node.text()
    if text and not text.isspace():
        return text
    image = node.css_first("img[alt]")
    return "" if image is None else image.attributes.get("alt") or ""


@lru_cache(maxsize=64)
def _selector(types: frozenset[str]) -> str:
    return ",".join(sorted(elements_of_interest(types)))
