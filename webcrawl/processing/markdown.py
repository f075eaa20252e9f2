"""Conversion of reduced HTML to Markdown (CommonMark 0.31): headings, paragraphs, lists, links, preformatted text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from webcrawl.urls.resolve import resolve

_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")
_AT_START = re.compile(r"(?m)^(\s*)([#>+-]|\d+[.)])(?=\s)")
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol"})


def html_to_markdown(html: str, url: str) -> str:
    """Return ``html`` as Markdown; links are resolved against ``url``, and invalid links become text."""
    writer = _Writer(url)
    writer.feed(html)
    writer.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(writer.written)).strip()


class _Writer(HTMLParser):
    """Writes as the tags come, without a tree: nesting costs only a number."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.written: list[str] = []
        self._url = url
        self._lists: list[int | None] = []
        """The open lists: the number of the last entry, None for those with bullets."""
        self._link: str | None = None
        self._bracket = 0
        """The index in ``written`` at which the open link begins."""
        self._preformatted = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._leave_link()
            self.written.append("" if self._lists else "\n\n")
        if tag[0] == "h" and tag[1:].isdigit():
            self.written.append("#" * int(tag[1:]) + " ")
        elif tag == "br":
            self.written.append("\\\n" if not self._preformatted else "\n")
        elif tag == "pre":
            self._preformatted = True
            self.written.append("\n```\n")
        elif tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._entry()
        elif tag == "a" and self._link is None:
            if href := dict(attrs).get("href"):
                self._link = resolve(href, self._url)
            if self._link:
                self._bracket = len(self.written)
                self.written.append("[")

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._preformatted = False
            self.written.append("\n```\n")
        elif tag in ("ul", "ol"):
            if self._lists:
                self._lists.pop()
            self.written.append("\n" if self._lists else "\n\n")
        elif tag == "a":
            if self._link:
                # Brackets and blanks would end the target early.
                target = re.sub(r"[()<>\s\\]", lambda match: f"%{ord(match[0]):02X}", self._link)
                self.written.append(f"]({target})")
            self._link = None
        elif tag in _BLOCKS and not self._lists:
            self.written.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._preformatted:
            # The fenced text must not end the fence.
            self.written.append(data.replace("```", "` ` `"))
            return
        if self.written and self.written[-1] == "\\\n":
            data = data.lstrip("\n")
        text = _SPECIAL.sub(r"\\\g<0>", data)
        if self._lists and not text.strip():
            return
        if not self.written or self.written[-1].endswith("\n"):
            text = _AT_START.sub(r"\1\\\2", text)
        self.written.append(text)

    def _leave_link(self) -> None:
        """Close a link around blocks, which Markdown does not have: its text stays."""
        if self._link:
            self.written[self._bracket] = ""
            self._link = None

    def _entry(self) -> None:
        if not self._lists:
            self._lists.append(None)
        number = self._lists[-1]
        sign = "-"
        if number is not None:
            self._lists[-1] = number + 1
            sign = f"{number + 1}."
        self.written.append("\n" + "    " * min(len(self._lists) - 1, 10) + sign + " ")
