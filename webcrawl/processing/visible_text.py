"""The visible text of an HTML page, divided into the content and the boilerplate.

No visible text is dropped: it belongs to one part or the other. Boilerplate is the text in elements that are marked
as such by their names, their roles (WAI-ARIA landmarks) or the words of their classes and ids; link density is not
used, since in documentation, forums and lists of results links are the content.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from webcrawl.parsing.html import readable_as_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from webcrawl.processing.contract import Content

_INLINE = (
    "abbr|acronym|bdi|bdo|big|cite|code|data|del|dfn|em|font|ins|kbd|mark|nobr|rb|rp|rt|ruby|samp|small|span|strike"
    "|strong|sub|sup|time|tt|var|wbr"
)
_WITHIN_LINES = frozenset(["a", "b", "i", "q", "s", "u", *_INLINE.split("|")])
_BREAK = "\f"
"""Marks the end of a line of text: white space in HTML, so it does not change the tree."""
# A browser separates words in different blocks, cells, links or fields, and joins those that only an inline element
# separates. All other elements separate, including unknown ones.
_SEPARATING = re.compile(
    rf"<(?:(?!/?(?:[abiqsuABIQSU]|{_INLINE}|{_INLINE.upper()})[\s/>])(?=[a-zA-Z/])|(?<=</[aA]><)(?=[aA]\s))"
)
_NOTE = re.compile(r"<sup\b[^<>]*>(?=[\W\d_]|TM<|SM<)", re.IGNORECASE)
"""A superscript number or sign does not belong to the word; in 1<sup>st</sup> it does."""

_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)
_UNSEEN = (
    "script,style,template,iframe,noframes,noembed,datalist,rp,svg title,svg desc,annotation,annotation-xml"
)
_SHOWN_OTHERWISE = "img[alt],area[alt],input[value],input[alt],pre,textarea,listing,xmp,ruby"
_MAIN = "main,[role=main],article:not(article article)"
_HEADINGS = "h1,h2,h3,h4,h5,h6"

_ASIDE = (
    "nav,noscript,footer:not(blockquote footer),header:not(article header,main header),"
    "aside:not(article aside,main aside),"
    "[hidden],[style*='display:none' i],[style*='display: none' i],[style*='visibility:hidden' i]"
)
_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar"})
_ATTRIBUTES = {
    name: re.compile(rf"{name}=[\"']?([\w -]{{3,100}})[\"'>\s]", re.ASCII)
    for name in ("class", " id", " role")
}
_WORDS = re.compile(
    r"(?:^|[\s_-])(?<!\bhas[-_])(?<!\bno[-_])(?<!\bwith[-_])"
    r"(?:nav|navbar|navheader|navfooter|navigation|navlinks|subnav|topnav|sidenav|breadcrumbs?|menus?|menubar|submenu"
    r"|sidebars?|sphinxsidebar|toolbar|topbar|masthead|footers?|footnav|colophon|copyright|privacy"
    r"|pager|pagination|paginator|skip-?links?|skip-?nav|share|sharing|sharebar|social|newsletter|subscribe|signup|cta"
    r"|cookies?|consent|gdpr|advert|adverts|advertisement|ads?|sponsored|promos?|promoted|recirc|recommended"
    r"|recommendations|related|trending|popular|latest|most-?read|teasers?|widgets?|textwidget"
    r"|toplang|bottomlang|languages?-?(?:menu|switcher|selector)|(?:page|site|global|top|main)-?header)(?=$|[\s_-])"
)
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WHOLE = frozenset({"header", "banner", "top", "bottom", "path"})
"""Ids and classes that mark boilerplate as whole words and not as parts of others."""

_MOST = 0.5
"""A share of a page's characters: an element that has more may be the content, whatever its name."""
_PROSE = 300
"""The number of characters from which on an element may be prose; no navigation is so long without links."""
_LINKED = 0.2
"""The largest share of the characters of prose that is in links."""
_NEVER_TOLD = frozenset({"footer", "header", "nav", "noscript"})
_HIDDEN = frozenset({"hidden", "style"})
_LEAST = 0.1
"""A share of a page's characters: if some text besides boilerplate is left, but less than this, nothing is removed
from the page. If none is left, the content is empty: pages with the same navigation are not the same.
"""


class VisibleText(NamedTuple):
    """The visible text, a line for each block."""

    main: str
    headings: list[str]
    """The headings outside of boilerplate, in their order."""
    boilerplate: str
    """Navigation, headers and footers of the site, which surround its pages."""


_NOTHING = VisibleText("", [], "")


def visible_text(content: Content) -> VisibleText:
    """The text of an HTML page."""
    return _extracted(readable_as_html(content.text, content.mime))


def main_markup(content: Content) -> str:
    """Return the body of an HTML page as HTML, without boilerplate and invisible elements."""
    markup = readable_as_html(content.text, content.mime)
    body = LexborHTMLParser(markup, options=_OPTIONS).body
    if body is None:
        return ""
    _remove_unseen(body)
    whole = _length(body.text())
    _part(body, markup, whole)
    return markup if 0 < _length(body.text()) < _LEAST * whole else body.html or ""


def _extracted(markup: str) -> VisibleText:
    spaced = _SEPARATING.sub(f"{_BREAK}<", markup)
    if "<sup" in spaced or "<SUP" in spaced:
        spaced = _NOTE.sub(r" \g<0>", spaced)
    body = LexborHTMLParser(spaced, options=_OPTIONS).body
    if body is None:
        return _NOTHING
    _remove_unseen(body)
    _spell_out(body)
    whole = body.text()
    length = _length(whole)
    apart = _part(body, markup, length)
    main = body.text() if apart else whole
    headings = [line for node in body.css(_HEADINGS) if (line := _lines(node.text()).replace("\n", " "))]
    node = _main_element(body, length)
    if node is not None:
        node.replace_with(_BREAK)
        apart.append(body.text())
        body, main = node, node.text()
    if 0 < _length(main) < _LEAST * length:
        return VisibleText(_lines(whole), headings, "")
    return VisibleText(_lines(main), headings, "\n".join(filter(None, map(_lines, apart))))


def _remove_unseen(body: LexborNode) -> None:
    for node in body.css(_UNSEEN):
        node.decompose(recursive=False)


def _spell_out(body: LexborNode) -> None:
    """Insert the texts of attributes where they are shown, keep the lines of preformatted text, and move superscripts
    to the end of their block, so that they separate no characters.
    """
    # The inner ones come first: their text is a part of that of the outer ones.
    for node in reversed(body.css(_SHOWN_OTHERWISE)):
        match node.tag:
            case "img" | "area" | "input":
                values = node.attributes
                shown = values.get("alt") or ("" if node.tag == "img" else values.get("value"))
                if shown and (values.get("type") or "").lower() not in ("hidden", "password"):
                    node.insert_after(f" {shown} ")
            case "ruby":
                _read_aloud(node)
            case _:
                node.replace_with(_BREAK + node.text().replace("\n", _BREAK) + _BREAK)


def _read_aloud(ruby: LexborNode) -> None:
    readings = ruby.css("rt")
    pronunciation = " ".join(reading.text() for reading in readings)
    for reading in readings:
        reading.decompose(recursive=False)
    block = ruby.parent
    while block is not None and block.tag in _WITHIN_LINES:
        block = block.parent
    if block is not None:
        block.insert_child(f"{_BREAK}{pronunciation}{_BREAK}")


def _main_element(body: LexborNode, length: int) -> LexborNode | None:
    """Return the one element that is marked as the content of the page, and holds most of its text."""
    nodes: dict[bool, dict[int, LexborNode]] = {True: {}, False: {}}
    for node in body.css(_MAIN):
        nodes[node.tag == "article" and node.attributes.get("role") != "main"][node.mem_id] = node
    for is_article, share in ((False, _LEAST), (True, _MOST)):
        if len(nodes[is_article]) == 1:
            [node] = nodes[is_article].values()
            if _length(node.text()) > share * length:
                return node
    return None


def _part(body: LexborNode, markup: str, length: int) -> list[str]:
    """Remove boilerplate from a body whose text has this length; return the removed lines."""
    selector = _selector(markup)
    apart: list[str] = []
    # The inner ones come first: outer ones are examined without them.
    for node in reversed({node.mem_id: node for node in body.css(selector)}.values()):
        if node.tag in _WITHIN_LINES:
            continue
        text = node.text()
        if _is_told(node, text, length):
            continue
        node.replace_with(_BREAK)
        if text and not text.isspace():
            apart.append(text)
    apart.reverse()
    return apart


def _is_told(node: LexborNode, text: str, length: int) -> bool:
    """Return True if an element is content although it is marked as boilerplate: it has the page's heading, it is
    prose, such as a book beside its text, or it has most of the page and more than links.
    """
    if node.css_first("h1,main,article") is not None:
        return True
    if node.tag in _NEVER_TOLD:
        return False
    mostly = _length(text) > _MOST * length
    if not mostly and (len(text) < _PROSE or _HIDDEN & node.attributes.keys()):
        return False
    return sum(len(link.text()) for link in node.css("a")) < (_MOST if mostly else _LINKED) * len(text)


def _selector(markup: str) -> str:
    """Return a selector for the elements of a page that may be boilerplate, by the attributes that it has."""
    named = [
        f"[{name.strip()}='{value}']"
        for name, pattern in _ATTRIBUTES.items()
        for value in set(pattern.findall(markup))
        if _is_boilerplate(name, value)
    ]
    return ",".join([_ASIDE, *sorted(named)])


@lru_cache(maxsize=8192)
def _is_boilerplate(attribute: str, value: str) -> bool:
    name = value.strip()
    if not name.islower():
        name = _HUMPS.sub("-", name).lower()
    if attribute == " role":
        return name in _ROLES
    return name in _WHOLE or _WORDS.search(name) is not None


def _lines(text: str) -> str:
    return "\n".join([" ".join(words) for block in text.split(_BREAK) if (words := block.split())])


def _length(text: str) -> int:
    """Return the number of characters without most white space, of which markup has any amount."""
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t") - text.count(_BREAK)
