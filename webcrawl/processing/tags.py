"""How often each element stands in an HTML page (the tag counter of Mercator)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.main_text import HTML

if TYPE_CHECKING:
    from webcrawl.processing.content import Content


class TagCounter:
    """Elements by their names, as a browser's tree has them: those that a page leaves out, such as ``tbody``, too."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"tags": "counts"}

    def process(self, content: Content) -> Mapping[str, Any]:
        from selectolax.lexbor import LexborHTMLParser

        nodes = LexborHTMLParser(content.text).css("*")
        return {"tags": dict(Counter(node.tag for node in nodes).most_common())}
