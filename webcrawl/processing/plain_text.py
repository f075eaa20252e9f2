"""Plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from webcrawl.processing.content import Content


class PlainText:
    """The text of a plain text, in the encoding that it turns out to have."""

    mime_types = ("text/plain", "text/markdown")
    fields: ClassVar[dict[str, str]] = {"text": "text"}

    def process(self, content: Content) -> Mapping[str, Any]:
        return {"text": content.text}
