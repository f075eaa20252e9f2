"""PDF documents: text, title and links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.contract import TEXT_MAX

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content

PAGES_MAX = 500
"""The number of pages that are read."""

_READ = "pdf"


class Pdf:
    """Text, title, author, number of pages and links of a PDF. Needs ``application/pdf`` in MIME_TYPES_WANTED
    and a DOWNLOAD_MAXSIZE above the usual: a PDF has its table of contents at its end.
    """

    mime_types = ("application/pdf", "application/x-pdf")
    packages = ("pypdf",)
    fields: ClassVar[dict[str, str]] = {"text": "text", "title": "line", "author": "line", "pages": "whole"}

    def __init__(self) -> None:
        import pypdf  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        reader = _reader(content)
        about = reader.metadata
        return {
            "title": about.title if about else None,
            "author": about.author if about else None,
            "pages": len(reader.pages),
            "text": pdf_text(content),
            "links": list(_links(reader)),
        }


def pdf_text(content: Content) -> str:
    """Return the text of a PDF, extracted once for all modules that need it. Raises the library's exceptions."""
    if "text" not in content.shared:
        pieces, length = [], 0
        for number, page in enumerate(_reader(content).pages):
            if number == PAGES_MAX or length > TEXT_MAX:
                break
            pieces.append(page.extract_text())
            length += len(pieces[-1])
        content.shared["text"] = "\n\n".join(pieces)
    text: str = content.shared["text"]
    return text


def _reader(content: Content) -> Any:
    from pypdf import PdfReader

    if _READ not in content.shared:
        content.shared[_READ] = PdfReader(BytesIO(content.body), strict=False)
    return content.shared[_READ]


def _links(reader: Any) -> Iterator[str]:
    """Yield the URIs of link annotations (PDF 32000-1, 12.6.4.7); broken ones are skipped."""
    for number, page in enumerate(reader.pages):
        if number == PAGES_MAX:
            return
        for annotation in page.get("/Annots") or ():
            action = annotation.get_object().get("/A")
            uri = action.get_object().get("/URI") if action is not None else None
            if uri is not None:
                yield str(uri)
