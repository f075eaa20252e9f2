"""The careful parser: libxml2 reports each tag as it comes (lxml's target parser), a piece of the page at a time.

There is no tree, so memory is bounded by the page's length whatever its content is. Time is proportional to the
length for all pages except those that leave thousands of elements open and close as many that are not: with a
million open elements one piece may take 0.4 s, and the end of the page, which closes them without a pause, 0.05.
Between two pieces the event loop gets its turn. Whoever works on one gives ``OPEN_MAX``, and has a page that needs
more read elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from lxml import etree

from webcrawl.parsing.findings import PageFindings, elements_of_interest
from webcrawl.parsing.links import IN_STYLES
from webcrawl.parsing.text import LOOKED_AT

PIECE = 1_024
"""Characters parsed in one step: few, because an end tag without a start tag is compared with all open elements."""

OPEN_MAX = 20_000
"""Elements that may be open on an event loop: with so many one piece takes 9 ms at most, and the end of a page 2."""
TOO_DEEP = f"not read to its end: more than {OPEN_MAX:,} elements are open"

_TEXT_ELEMENTS = frozenset({"a", "title", "style"})
"""Elements whose text content is needed."""

_NOTHING = PageFindings(frozenset(), 0)
"""The findings of no page."""

PARSERS_MAX = 4
"""The number of parsers that are kept: more pages are seldom read at a time."""


def steps(text: str, findings: PageFindings, open_max: int | None = None) -> Iterator[None]:
    """Read the page in steps of a few milliseconds, until more than ``open_max`` elements are open."""
    reading = _PARSERS.pop() if _PARSERS else _Reading()
    reading.target.begin(findings)
    try:
        for start in range(0, len(text), PIECE):
            reading.parser.feed(text[start : start + PIECE])
            if open_max is not None and reading.target.open_elements > open_max:
                findings.unread = TOO_DEEP
                break
            yield
    except GeneratorExit:
        # No more of the page is wanted. A parser is only used again after it was closed.
        reading.end(wanted=False)
        raise
    reading.end(wanted=True)


class _Reading:
    """A parser and its target. They refer to each other inside lxml, and what the parser has allocated is unknown to
    the garbage collector, which counts 27 objects for a page of any size: so they are used for many pages.
    """

    def __init__(self) -> None:
        self.target = _ParserTarget()
        self.parser: Any = etree.HTMLParser(target=self.target, huge_tree=True)  # type: ignore[arg-type]

    def end(self, *, wanted: bool) -> None:
        """End the page; ``wanted``: the elements that are still open are reported."""
        if not wanted:
            self.target.forget()
        # A page without any element, the only one that the parser rejects, has no findings.
        with suppress(etree.XMLSyntaxError):
            self.parser.close()
        self.target.forget()
        if len(_PARSERS) < PARSERS_MAX:
            _PARSERS.append(self)


_PARSERS: list[_Reading] = []
"""Parsers without a page."""


class _ParserTarget:
    """The target that lxml calls. The content of a ``<template>`` is no part of the page, unless it is a shadow root
    of it.
    """

    def __init__(self) -> None:
        self.begin(_NOTHING)

    def begin(self, findings: PageFindings) -> None:
        """Collect into ``findings`` from now on."""
        self._findings = findings
        self._names = elements_of_interest(findings.types)
        self._has_styles = IN_STYLES in findings.types
        self._open: tuple[str, dict[str, str | None]] | None = None
        self._text: list[str] = []
        self._length = 0
        self._alt = ""
        self._templates = 0
        self._drawings = 0
        self.open_elements = 0

    def forget(self) -> None:
        """Free what was collected."""
        self.begin(_NOTHING)
        self._names = frozenset()

    def start(self, name: str, values: dict[str, str]) -> None:
        self.open_elements += 1
        if name == "template" and (self._templates or "shadowrootmode" not in values):
            self._templates += 1
        if self._templates:
            return
        if name == "img" and self._open is not None and not self._alt:
            self._alt = values.get("alt", "")
        elif name == "svg":
            self._drawings += 1
        if self._has_styles and (style := values.get("style")):
            self._findings.style(style)
        if name not in self._names or (name == "title" and self._drawings):
            return
        if name in _TEXT_ELEMENTS:
            self._report_element()
            self._open, self._text, self._length, self._alt = (name, dict(values)), [], 0, ""
        else:
            self._findings.element(name, dict(values), str)

    def end(self, name: str) -> None:
        self.open_elements -= 1
        if name == "template":
            self._templates = max(self._templates - 1, 0)
        elif name == "svg":
            self._drawings = max(self._drawings - 1, 0)
        elif self._open is not None and name == self._open[0]:
            self._report_element()

    def data(self, data: str) -> None:
        # Each character reference comes as a text of its own: eight million bytes of them are a hundred as objects.
        if self._open is not None and (self._length < LOOKED_AT or self._open[0] == "style"):
            self._length += len(data)
            self._text.append(data)

    def close(self) -> None:
        self._report_element()

    def _report_element(self) -> None:
        """Report the open element: it has ended, or an element that cannot be inside it has begun."""
        if self._open is None:
            return
        (name, values), self._open = self._open, None
        text = "".join(self._text)
        if name == "style":
            self._findings.style(text)
            return
        if not text or text.isspace():
            text = self._alt
        self._findings.element(name, values, lambda: text)
