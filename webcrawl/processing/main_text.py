"""The main text of an HTML page: what is left without navigation, headers, footers and advertisements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.markdown import markdown_of

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

HTML = ("text/html", "application/xhtml+xml")

_MARK = "text"

# resiliparse 2.0.1 drops a text of three bytes of which the last is not ASCII, and the space beside it: where a dash
# stands alone between two elements it makes one word of both, and of some Chinese it loses the verb.
_ALONE = re.compile(r">[ \t\r\n]*((?:[^<&\s]|&#?\w{2,31};)?(?:[^\x00-\x7f]|&#?\w{2,31};))(?=[ \t\r\n]*<)")
_JOINER = "\u2060"
"""Word joiner: no reader sees it, and it makes such a text longer."""


class MainText:
    """The main text as plain text: a line for each block."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"text": "text"}

    def __init__(self) -> None:
        # Imported where it is used: by the processes of the pool.
        import resiliparse.extract.html2text  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        return {"text": main_text(content)}


class Markdown:
    """The same as Markdown: headings, lists, links and preformatted text are kept."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"markdown": "text"}

    def __init__(self) -> None:
        import resiliparse.extract.html2text  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        reduced = _extracted(content, preserve_formatting="minimal_html", links=True)
        return {"markdown": markdown_of(reduced, content.url)}


def main_text(content: Content) -> str:
    """The main text of an HTML page, extracted once for all modules that want it."""
    if _MARK not in content.shared:
        content.shared[_MARK] = _extracted(content, preserve_formatting=True)
    text: str = content.shared[_MARK]
    return text


def _extracted(content: Content, **how: Any) -> str:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = content.shared.get("tree")
    if tree is None:
        tree = content.shared["tree"] = HTMLTree.parse(_ALONE.sub(_held, content.text))
    text: str = extract_plain_text(tree, main_content=True, alt_texts=False, **how)
    return text.replace(_JOINER, "")


def _held(found: re.Match[str]) -> str:
    data = unescape(found[1]).encode("utf-8", "replace")
    return found[0] + _JOINER if len(data) == 3 and data[-1] >= 0x80 else found[0]
