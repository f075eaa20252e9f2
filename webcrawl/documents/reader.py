"""The links of a page as the page has them: one walk over its tags."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from webcrawl.documents.links import (
    ATTRIBUTES,
    TEXT_MAX,
    elements_with,
    refresh_target,
    srcset_urls,
    type_of_link_element,
)
from webcrawl.documents.markup import NESTING, RAW, attributes, end_of, scanner
from webcrawl.documents.references import decoded_attribute
from webcrawl.documents.text import line

HREF_MAX = 8_192
"""Characters of a link; a longer one is dropped."""

# Needed for the page as a whole: title, base, and what makes the tags inside it mean something else.
_ALWAYS = frozenset({"title", "base", "iframe", "template", "svg", "math", "plaintext"})

# Interesting tags between two pauses. With the tags that each match may skip this is a matter of milliseconds.
_STRIDE = 50

Found = tuple[str, str, str, str]
"""A link before it is resolved: href, type, markup of the anchor (or an ``alt``), rel."""


class Reader:
    """Reads one page: exhaust ``read()``, then look at the attributes.

    ``found`` holds at most ``links_max`` links in the order of the page, ``dropped`` counts the others. ``base``
    is the href of the first ``<base>`` that has one. ``title`` is the markup of the first title. What is inside a
    ``<template>`` is no part of the page, unless the template is a shadow root of the page.
    """

    def __init__(self, text: str, types: frozenset[str], links_max: int, *, is_xml: bool) -> None:
        self.found: list[Found] = []
        self.dropped = 0
        self.base: str | None = None
        self.title: str | None = None
        self._text = text
        self._types = types
        self._links_max = links_max
        self._is_xml = is_xml
        self._inert_templates = 0
        self._foreign = 0
        self._scanner = scanner(_ALWAYS | elements_with(types))

    def read(self) -> Iterator[None]:
        """Walk over the page, pausing every few milliseconds."""
        anchors = "a" in self._types
        start = 0
        while start < len(self._text):
            before = start
            for match in islice(self._scanner.finditer(self._text, start), _STRIDE):
                tag, double, single, bare, content, name, rest, stopped = match.groups()
                if tag is not None:
                    if anchors:
                        self._anchor(tag, double or single or bare, content)
                elif name is not None:
                    end = self._element(name.lower(), rest, match.end())
                    if end != match.end():
                        start = end
                        break
                else:
                    start = match.end() - 1 if stopped and match.end() - 1 > before else len(self._text)
                    break
            else:
                start = match.end()
            yield

    def _anchor(self, tag: str, href: str | None, content: str) -> None:
        if not href or self._inert_templates:
            return
        if len(self.found) >= self._links_max or len(href) > HREF_MAX:
            self.dropped += 1
            return
        rel = attributes(tag).get("rel", "").lower() if "rel" in tag.lower() else ""
        self.found.append((decoded_attribute(href) if "&" in href else href, "a", content, rel))

    def _element(self, name: str, tag: str, end: int) -> int:
        """Take in a tag that ends at ``end`` and return where to go on."""
        closes_itself = tag.endswith("/>")
        if name[0] == "/" or name in NESTING:
            self._nest(name, closes_itself, tag)
            return end
        if not self._inert_templates:
            self._collect(name, tag)
        if name == "plaintext":
            return len(self._text)
        if name not in RAW or (closes_itself and (self._foreign or self._is_xml)):
            return end
        if name == "title" and self._foreign:
            return end
        close = end_of(name).search(self._text, end)
        stop = len(self._text) if close is None else close.start()
        if name == "title" and self.title is None and not self._inert_templates:
            self.title = self._text[end:stop]
        return stop

    def _nest(self, name: str, closes_itself: bool, tag: str) -> None:
        if name == "/template":
            self._inert_templates = max(0, self._inert_templates - 1)
        elif name[0] == "/":
            self._foreign = max(0, self._foreign - 1)
        elif name != "template":
            self._foreign += not closes_itself
        elif not self._foreign and (self._inert_templates or "shadowrootmode" not in attributes(tag)):
            self._inert_templates += 1

    def _collect(self, name: str, tag: str) -> None:
        if name == "meta" and "refresh" not in tag.lower():
            return
        values = attributes(tag)
        if name == "base":
            if self.base is None and "href" in values:
                self.base = decoded_attribute(values["href"])
        elif name == "link":
            self._collect_link_element(values)
        elif name == "meta":
            if values.get("http-equiv", "").lower() == "refresh":
                self._add(refresh_target(decoded_attribute(values.get("content", ""))), "refresh")
        else:
            self._collect_values(name, values)

    def _collect_link_element(self, values: dict[str, str]) -> None:
        rel = " ".join(values.get("rel", "").lower().split())
        kind = type_of_link_element(rel, values.get("type", "").lower())
        if kind in self._types:
            self._add(decoded_attribute(values.get("href", "")), kind, rel=rel)

    def _collect_values(self, name: str, values: dict[str, str]) -> None:
        for attribute, kind in ATTRIBUTES.get(name, ()):
            value = values.get(attribute)
            if not value or kind not in self._types:
                continue
            alt = line(decoded_attribute(values.get("alt", "")), TEXT_MAX)
            urls = (
                srcset_urls(decoded_attribute(value))
                if attribute == "srcset"
                else (decoded_attribute(value),)
            )
            for url in urls:
                self._add(url, kind, alt, values.get("rel", "").lower())

    def _add(self, href: str | None, kind: str, content: str = "", rel: str = "") -> None:
        if not href:
            return
        if len(self.found) < self._links_max and len(href) <= HREF_MAX:
            self.found.append((href, kind, content, rel))
        else:
            self.dropped += 1
