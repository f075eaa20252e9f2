"""The elements that a parser reports, collected into title, base and links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from webcrawl.parsing.css import css_urls
from webcrawl.parsing.links import (
    ATTRIBUTES,
    IN_STYLES,
    SELF_LINKS,
    SETS,
    elements_with,
    is_vouched_for,
    refresh_target,
    srcset_urls,
    type_of_link_element,
)

HREF_MAX = 8_192
"""The longest link in characters; a longer one is dropped, except for schemes of which only the beginning is kept
anyway.
"""

_HOLDS_CONTENT = re.compile(r"[\0- ]*(?:data|javascript):", re.IGNORECASE).match

SPELLINGS = 4
"""The mean number of spellings of one target that a page may have before any is dropped:
``x``, ``/x``, ``//h/x``, ``http://h/x``.
"""

METAS_MAX = 200
"""The number of meta elements, and of translations, that are kept of a page."""
KEPT_METAS = frozenset({"tdm-reservation", "tdm-policy"})
"""Names of meta elements that are kept behind many others, too: what they say would be missed."""

ALWAYS = frozenset({"title", "base", "meta", "html"})

_IN_OTHER_LANGUAGES = frozenset({"alternate", "hreflang"})


Found = tuple[str, str, str, str]
"""A link before it is resolved: href, type, text as written (or an ``alt``), rel."""


@lru_cache(maxsize=64)
def elements_of_interest(types: frozenset[str]) -> frozenset[str]:
    """Return the names of the elements that a parser must report for links of these types."""
    return elements_with(types) | ALWAYS


@dataclass(slots=True)
class PageFindings:
    """The findings of one page.

    ``found`` holds links in the order of the page: up to ``links_max`` as they come; from then on each spelling once,
    without its fragment, ``SPELLINGS`` times as many at most. Whoever resolves them counts targets.
    """

    types: frozenset[str]
    links_max: int
    agents: frozenset[str] = frozenset()
    """The product tokens, in lower case, by which a meta element may address this crawler alone."""
    found: list[Found] = field(default_factory=list)
    dropped: int = 0
    """Links that were too long, or for which there was no room."""
    base: str | None = None
    base_is_too_long: bool = False
    """True if the base is too long to be used: a hundred links would take as many copies of it."""
    title: str | None = None
    robots: list[str] = field(default_factory=list)
    """The contents of meta elements for all robots or for this crawler, as written."""
    metas: list[tuple[str, str]] = field(default_factory=list)
    """Name (or ``property``) in lower case and content of each meta element that has both, in the page's order."""
    language: str | None = None
    """The ``lang`` attribute of the page."""
    canonical: str | None = None
    """``href`` of the first ``<link rel=canonical>``."""
    beside: dict[str, str] | None = None
    """``href`` of links to the words before and behind them; None if they are not requested."""
    translations: list[tuple[str, str]] = field(default_factory=list)
    """``hreflang`` and ``href`` of each ``<link rel=alternate>`` that has both."""
    unread: str | None = None
    """Why the page was not read to its end."""
    _places: dict[tuple[str, str], int] | None = None
    """The indexes in ``found`` by spelling and type, for a page with very many links."""

    def element(self, name: str, values: Mapping[str, str | None], text: Callable[[], str]) -> None:
        """Take an element; ``text`` returns its text content."""
        if name == "title":
            if self.title is None:
                self.title = text()
        elif name == "base":
            # The first element that has the attribute, even an empty one, which means the page's own URL (HTML,
            # 2.4.1).
            if self.base is None and "href" in values:
                self.base = values["href"] or ""
                self.base_is_too_long = len(self.base) > HREF_MAX
        elif name == "link":
            self._link_element(values)
        elif name == "meta":
            self._meta(values)
        elif name == "html":
            self.language = self.language or values.get("lang") or values.get("xml:lang")
        else:
            self._bearer(name, values, text)

    def add(self, href: str | None, kind: str, text: str = "", rel: str = "") -> None:
        """Take a link; an empty one is to the base of the page."""
        if href is None:
            return
        if len(href) > HREF_MAX and _HOLDS_CONTENT(href):
            href = href[:HREF_MAX]
        if len(href) > HREF_MAX:
            self.dropped += 1
        elif len(self.found) < self.links_max and self._places is None:
            self.found.append((href, kind, text, rel))
        else:
            self._add_to_many((href, kind, text, rel))

    def _add_to_many(self, link: Found) -> None:
        """Take a link of a page that has very many, unless there is no room for another spelling."""
        if self._places is None:
            self._places = {}
            batch, self.found = self.found, []
            for item in batch:
                self._add_to_many(item)
        href, kind, text, rel = link
        known = self._places.setdefault((href.partition("#")[0], kind), len(self.found))
        if known < len(self.found):
            self.found[known] = merged(self.found[known], text, rel)
        elif known < SPELLINGS * self.links_max:
            self.found.append(link)
        else:
            del self._places[href.partition("#")[0], kind]
            self.dropped += 1

    def style(self, text: str) -> None:
        """Take the text of a style element or of a style attribute."""
        for url in css_urls(text):
            self.add(url, IN_STYLES)

    def _meta(self, values: Mapping[str, str | None]) -> None:
        content = values.get("content")
        if not content:
            return
        if (values.get("http-equiv") or "").lower() == "refresh" and "refresh" in self.types:
            self.add(refresh_target(content) or None, "refresh")
        name = values.get("name")
        if name and (name := name.strip().lower()) and (name == "robots" or name in self.agents):
            self.robots.append(content)
        elif (name := name or values.get("property")) and (
            len(self.metas) < METAS_MAX
            or (name.strip().lower() in KEPT_METAS and len(self.metas) < 2 * METAS_MAX)
        ):
            self.metas.append((name.strip().lower(), content))

    def _link_element(self, values: Mapping[str, str | None]) -> None:
        rel = " ".join((values.get("rel") or "").lower().split())
        kind = type_of_link_element(rel, (values.get("type") or "").lower(), values.get("hreflang") or "")
        if kind == "hreflang" and kind not in self.types:
            kind = "alternate"
        href = values.get("href")
        if not href:
            return
        if kind in self.types:
            self.add(href, kind, rel=rel)
        if len(href) > HREF_MAX:
            return
        if kind == "canonical":
            self.canonical = self.canonical or href
        elif values.get("hreflang") and kind in _IN_OTHER_LANGUAGES and len(self.translations) < METAS_MAX:
            self.translations.append((values["hreflang"] or "", href))

    def _bearer(self, name: str, values: Mapping[str, str | None], text: Callable[[], str]) -> None:
        rel = (values.get("rel") or "").lower()
        for attribute, kind in ATTRIBUTES.get(name, ()):
            value = values.get(attribute)
            if not value and attribute == "href" and attribute in values and name in SELF_LINKS:
                value = ""
            elif not value:
                continue
            if kind not in self.types:
                continue
            link_text = text() if name == "a" else values.get("alt") or ""
            for url in _urls(attribute, value):
                self.add(url, kind, link_text, rel)


def merged(link: Found, text: str, rel: str) -> Found:
    """Return a link with text and rel of another one to the same target."""
    href, kind, text_before, rel_before = link
    return href, kind, text_before or text, rel_before if is_vouched_for(rel_before) else rel


def _urls(attribute: str, value: str) -> Iterator[str]:
    if attribute in SETS:
        yield from srcset_urls(value)
    else:
        yield value
