"""The fast parser: the whole page as a tree (Lexbor, by selectolax), queried for the elements of interest.

Lexbor builds the tree that a browser builds, which by the HTML standard can be expensive for hostile pages: open
elements are searched for every tag that follows, and formatting elements with attributes that are left open are
created again in every paragraph that follows, so that 500 KB become gigabytes. So it gets only pages whose numbers of
elements rule that out, whatever they contain; ``stream`` reads the others.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from webcrawl.parsing.findings import HREF_MAX, PageFindings, elements_of_interest
from webcrawl.parsing.links import IN_STYLES
from webcrawl.parsing.text import LOOKED_AT


class Limits(NamedTuple):
    """The limits of a page that is read at once. The time is that of the worst known page, whose tags are all left
    open: it grows with their square."""

    characters: int
    tags: int
    """Numbers of ``<``."""


ON_A_LOOP = Limits(1 << 19, 3_000)
"""Some 30 ms."""
APART = Limits(1 << 21, 10_000)
"""Some 260 ms, which hold other pages only: in a process that parses pages. Of saved pages nearly all are within
these limits, and four in five within the others."""

BESIDE_MAX = 60
"""The number of characters before a link, and behind it, that are recorded as its surroundings."""

FEW_TAGS = 850
FORMATTING_MAX = 150_000
"""Formatting elements with attributes times tags, which bounds the number of elements of the tree: some 50 ms, and 60
MB. Few tags cannot reach it.
"""

_STRETCH = 2_000
STRETCHES_MAX = 100
"""Long tags, measured in the squares of their lengths, because each attribute is compared with all others: 30 ms."""

COUNTED_LEAST = 100
"""Shorter texts, which nearly all are, are not counted: the texts of all links that a page may have add up to
little.
"""
TEXTS_MAX = 1 << 20
"""Characters of link texts in a page, as far as they are read, after which links get none. Only nested links reach
it: the text of the innermost is in all of them.
"""

_FORMATTING = re.compile(
    "<(?=[bBcCeEfFiInNsStTuU])(?:[bBiIsSuU]|[eE][mM]|[tT][tT]|[bB][iI][gG]|[cC][oO][dD][eE]|[fF][oO][nN][tT]|[nN][oO][bB][rR]"
    "|[sS][mM][aA][lL][lL]|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG])[ \t\n\f\r/]"
)

# As icons are written: closed before another tag. The attributes are such that nothing else can be read in it.
_CLOSED_AT_ONCE = re.compile(
    r'<(b|i|s|u|em|tt|big|code|font|nobr|small|strike|strong)(?:\s++[a-z-]++="[^"<>]*+")++>[^<]*+</\1>'
)

# Without the events that copy the chosen option of a select into its button, which are not needed.
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)


def is_harmless(text: str, limits: Limits = ON_A_LOOP) -> bool:
    """Return True if the tree of the page takes no more time than the limits say. Comments and scripts count like
    markup.

    A page with shadow roots is not for the tree either, which does not give access to the content of templates.
    """
    tags = text.count("<")
    return (
        tags <= limits.tags
        and len(text) <= limits.characters
        and (tags <= FEW_TAGS or tags * _formatting(text, FORMATTING_MAX // tags) <= FORMATTING_MAX)
        and "shadowrootmode" not in text
        and _stretches(text) <= STRETCHES_MAX
    )


def _formatting(text: str, enough: int) -> int:
    """Return the number of formatting elements with attributes that may be left open; if there are no more than
    ``enough``, all are counted, which takes half the time."""
    count = len(_FORMATTING.findall(text))
    return count if count <= enough else count - len(_CLOSED_AT_ONCE.findall(text))


def _stretches(text: str) -> int:
    """Return the sum of the squares of the lengths of tags, in stretches without ``<`` and ``>``."""
    total = length = 0
    for start in range(_STRETCH, len(text), _STRETCH):
        end = start + _STRETCH
        if text.find(">", start, end) >= 0 or text.find("<", start, end) >= 0:
            length = 0
        elif length or _ends_in_tag(text, start):
            length += 1
            total += 2 * length - 1
    return total


def _ends_in_tag(text: str, end: int) -> bool:
    sign = text.rfind("<", end - _STRETCH, end)
    return sign > text.rfind(">", end - _STRETCH, end) and text[sign + 1].isalpha()


def read(text: str, findings: PageFindings) -> None:
    """Read the whole page."""
    room = findings.links_max if "a" in findings.types else 0
    links, beside = findings.found, findings.beside
    has_styles = IN_STYLES in findings.types
    length = 0
    for node in LexborHTMLParser(text, options=_OPTIONS).css(_selector(findings.types)):
        values = node.attributes
        href = values.get("href")
        # Nearly all of a hundred links per page are these, so they are handled here without a function call.
        if href and node.tag == "a" and len(href) <= HREF_MAX and len(links) < room:
            rel = values.get("rel")
            words = _element_text(node) if length < TEXTS_MAX else ""
            if len(words) > COUNTED_LEAST:
                length += len(words)
            links.append((href, "a", words, rel.lower() if rel else ""))
            if beside is not None and (text := _text_beside(node)):
                beside.setdefault(href, text)
        elif node.tag == "style":
            findings.style(node.text())
        else:
            findings.element(node.tag or "", values, partial(_element_text, node))
        if has_styles and (style := values.get("style")):
            findings.style(style)


def _element_text(node: LexborNode) -> str:
    """Return the text content of an element, or else the ``alt`` of the first image in it that has one."""
    text = node.text()
    if text and not text.isspace():
        return text[:LOOKED_AT]
    image = node.css_first("img[alt]:not([alt=''])")
    return "" if image is None else image.attributes.get("alt") or ""


def _text_beside(node: LexborNode) -> str:
    """Return the text directly before and directly behind an element."""
    before, behind = node.prev, node.next
    text = (before.text_content or "")[-BESIDE_MAX:] if before is not None and before.is_text_node else ""
    if behind is not None and behind.is_text_node:
        text = f"{text} {(behind.text_content or '')[:BESIDE_MAX]}"
    return text.strip()


@lru_cache(maxsize=64)
def _selector(types: frozenset[str]) -> str:
    names = elements_of_interest(types) - {"title"}
    # The title of a drawing is not the title of the page.
    selectors = [*sorted(names), ":not(svg, svg *) > title"]
    if IN_STYLES in types:
        # An element that matches two selectors would come twice.
        selectors.append(f'[style*="url(" i]:not({", ".join([*sorted(names), "title"])})')
    return ",".join(selectors)
