"""The language that a text is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.main_text import HTML, main_text
from webcrawl.processing.pdf import pdf_text

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

LOOKED_AT = 2_000
"""Characters of a text that are looked at: more take time and change nothing."""
LEAST = 20
"""Characters of a text that tell a language; of fewer nothing is said."""


class Language:
    """The language of the main text (of HTML), of a PDF or of a plain text, as an ISO 639 code."""

    mime_types = (*HTML, "text/plain", "text/markdown", "application/pdf")
    fields: ClassVar[dict[str, str]] = {"language": "line", "language_probability": "real"}

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def process(self, content: Content) -> Mapping[str, Any]:
        if content.mime in HTML:
            text = main_text(content)
        elif content.mime == "application/pdf":
            text = pdf_text(content)
        else:
            text = content.text
        text = " ".join(text[:LOOKED_AT].split())
        if sum(map(str.isalpha, text)) < LEAST:
            return {}
        language, probability = self._identifier.classify(text)
        return {"language": language, "language_probability": round(float(probability), 4)}
