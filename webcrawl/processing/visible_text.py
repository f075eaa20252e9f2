"""The text that a reader sees of an HTML page, all of it, in two parts: what the page says, and its boilerplate.

Nothing that is visible is dropped: a text belongs to one part or the other. Boilerplate is what stands in elements
that say so, by their names, their roles (WAI-ARIA landmarks) or the words of their classes and ids; there is no guess
by the density of links, since in documentation, forums and lists of results links are what a page says.
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
"""Stands where a line of text ends: white space in HTML, so that it changes no tree."""
# A browser shows words apart that stand in different blocks, cells, links or fields, and those as one that are parted
# by an inline element alone. All other elements separate, those that nobody has heard of too.
_SEPARATING = re.compile(
    rf"<(?:(?!/?(?:[abiqsuABIQSU]|{_INLINE}|{_INLINE.upper()})[\s/>])(?=[a-zA-Z/])|(?<=</[aA]><)(?=[aA]\s))"
)
_NOTE = re.compile(r"<sup\b[^<>]*>(?=[\W\d_]|TM<|SM<)", re.IGNORECASE)
"""A number or a sign above the line belongs to no word; in 1<sup>st</sup> it does."""

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
"""Ids and classes that say it alone and not as parts of others."""

_MOST = 0.5
"""Of a page's characters: an element that has more may be what the page says, whatever it is called."""
_PROSE = 300
"""Characters of an element from which on it may be prose; no navigation is so long without links."""
_LINKED = 0.2
"""Of the characters of prose stand in links at most."""
_NEVER_TOLD = frozenset({"footer", "header", "nav", "noscript"})
_HIDDEN = frozenset({"hidden", "style"})
_LEAST = 0.1
"""Of a page's characters: where something is left besides boilerplate, but less, a page is taken as it is. Where
nothing is left, it says nothing: pages that have their navigation in common are not the same."""


class VisibleText(NamedTuple):
    """What there is to read, a line for each block."""

    main: str
    headings: list[str]
    """Those that are in no boilerplate, in their order."""
    boilerplate: str
    """Navigation, headers and footers of the site, what surrounds its pages."""


_NOTHING = VisibleText("", [], "")


def visible_text(content: Content) -> VisibleText:
    """The text of an HTML page."""
    return _extracted(readable_as_html(content.text, content.mime))


def main_markup(content: Content) -> str:
    """The body of an HTML page as HTML, without boilerplate and what nobody sees."""
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
    """Put texts of attributes where they are shown, keep the lines of preformatted text, and bring what is written
    above characters to the end of their block, so that it stands between no two of them.
    """
    # The inner ones come first: what they show is a part of what the outer ones do.
    for node in reversed(body.css(_SHOWN_OTHERWISE)):
        match node.tag:
            case "img" | "area" | "input":
                values = node.attributes
                said = values.get("alt") or ("" if node.tag == "img" else values.get("value"))
                if said and (values.get("type") or "").lower() not in ("hidden", "password"):
                    node.insert_after(f" {said} ")
            case "ruby":
                _read_aloud(node)
            case _:
                node.replace_with(_BREAK + node.text().replace("\n", _BREAK) + _BREAK)


def _read_aloud(ruby: LexborNode) -> None:
    readings = ruby.css("rt")
    said = " ".join(reading.text() for reading in readings)
    for reading in readings:
        reading.decompose(recursive=False)
    block = ruby.parent
    while block is not None and block.tag in _WITHIN_LINES:
        block = block.parent
    if block is not None:
        block.insert_child(f"{_BREAK}{said}{_BREAK}")


def _main_element(body: LexborNode, length: int) -> LexborNode | None:
    """The one element that says it is what a page is about, and holds most of its text."""
    found: dict[bool, dict[int, LexborNode]] = {True: {}, False: {}}
    for node in body.css(_MAIN):
        found[node.tag == "article" and node.attributes.get("role") != "main"][node.mem_id] = node
    for is_article, share in ((False, _LEAST), (True, _MOST)):
        if len(found[is_article]) == 1:
            [node] = found[is_article].values()
            if _length(node.text()) > share * length:
                return node
    return None


def _part(body: LexborNode, markup: str, length: int) -> list[str]:
    """Take boilerplate out of a body whose text has this length; what it says."""
    selector = _selector(markup)
    apart: list[str] = []
    # The inner ones come first: what is left of the outer ones is looked at without them.
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
    """Whether an element is what the page says although it is called otherwise: it has the page's heading, it is
    prose, such as a book has beside its text, or most of the page is in it and more than links.
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
    """For the elements of a page that may be boilerplate, by the attributes that it has."""
    named = [
        f"[{name.strip()}='{value}']"
        for name, pattern in _ATTRIBUTES.items()
        for value in set(pattern.findall(markup))
        if _is_boilerplate(name, value)
    ]
    return ",".join([_ASIDE, *sorted(named)])


@lru_cache(maxsize=8192)
def _is_boilerplate(attribute: str, value: str) -> bool:
    said = value.strip()
    if not said.islower():
        said = _HUMPS.sub("-", said).lower()
    if attribute == " role":
        return said in _ROLES
    return said in _WHOLE or _WORDS.search(said) is not None


def _lines(text: str) -> str:
    return "\n".join([" ".join(words) for block in text.split(_BREAK) if (words := block.split())])


def _length(text: str) -> int:
    """Characters without most white space, which markup has in any amount."""
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t") - text.count(_BREAK)
