"""The media type of a response, by its header or, if that is missing or unspecific, by the first bytes of the
body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from mimetypes import MimeTypes

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
FTP_LISTING = "text/ftp-dir"
"""The type of a listing as an FTP server sends it, by MLSD or LIST."""
GOPHER_MENU = "application/gopher-menu"
DIRECTORY_TYPES = frozenset({FTP_LISTING, GOPHER_MENU})
"""The types of documents of other schemes that consist of links. None is registered; both are in use."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_ESSENCE = re.compile(rf"[ \t\n\r]*({_TOKEN}/{_TOKEN})[ \t\n\r]*(?:[;,]|$)")

# Types that servers send when they do not know the type; the text types among them also by mistake.
_UNKNOWN = frozenset(
    {
        "text/plain",
        "text/xml",
        "application/xml",
        "application/octet-stream",
        "binary/octet-stream",
        "application/unknown",
        "application/x-unknown-content-type",
        "unknown/unknown",
        "*/*",
    }
)

_SNIFFED_BYTES = 1445
"""The number of bytes in the resource header of the MIME sniffing standard (section 5.2)."""

_PROLOGUE = rb"(?:\xef\xbb\xbf)?(?>(?:[\t\n\x0c\r ]++|<\?[^>]*+>|<!--(?>.*?-->))*)"

# Section 7.1 of the standard, its first table: the tags that documents begin with.
_ANY_TAG = re.compile(
    _PROLOGUE
    + rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]",
    re.IGNORECASE | re.DOTALL,
)
_ROOT = re.compile(_PROLOGUE + rb"<(?:!doctype html|html)[\t\n\x0c\r >]", re.IGNORECASE | re.DOTALL)


def mime_type(content_type: str | None) -> str | None:
    """Return the essence of a Content-Type (``text/html``), in lower case; None if it holds none.

    If a server sends several, joined by commas, the first counts.
    """
    match = _ESSENCE.match(content_type) if content_type else None
    return match[1].lower() if match else None


def is_html(mime: str | None, body: bytes) -> bool:
    """Return whether the document is HTML.

    A type of HTML is accepted, and any other specific type is not HTML. Without a type the body decides as in
    browsers; a type that servers also send by default is overridden by a body that begins with ``<html`` or its
    doctype.
    """
    if mime in HTML_TYPES:
        return True
    if mime is None:
        return _ANY_TAG.match(body[:_SNIFFED_BYTES]) is not None
    return mime in _UNKNOWN and _ROOT.match(body[:_SNIFFED_BYTES]) is not None


def unwanted(mime: str | None, wanted: Sequence[str]) -> bool:
    """Return whether a type matches none of ``wanted``: types in lower case, ``text/*`` and the like included.

    An unknown type is not unwanted: the body has to decide.
    """
    return mime is not None and not any(fnmatchcase(mime, pattern) for pattern in wanted)


# Signatures of bodies whose server does not send the type (MIME sniffing standard, section 6, and the formats' own
# rules).
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def document_type(mime: str | None, body: bytes) -> str | None:
    """Return the type as which a body is to be read: the server's type, unless it is unspecific.

    As in ``is_html``; a body without a type, or with one that servers also send by default, is HTML, a PDF or an
    image if it begins like one.
    """
    if is_html(mime, body):
        return mime if mime in HTML_TYPES else "text/html"
    if mime is not None and mime not in _UNKNOWN:
        return mime
    return next((known for magic, known in _MAGIC if body.startswith(magic)), mime)


_NAMES = MimeTypes(())
"""Python's own table: the files of the system, in which ``mimetypes`` looks too, differ from machine to machine."""
_CODINGS = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def type_of_name(name: str) -> str | None:
    """Return the type of a file by the extension of its name; None if that tells nothing."""
    mime, coding = _NAMES.guess_type(name)
    return mime if coding is None else _CODINGS.get(coding, "application/octet-stream")


_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def sniffed_type(body: bytes) -> str:
    """Return the type of a document of which only its first bytes are known: that of ``document_type``, plain text,
    or binary data (MIME sniffing standard, section 7.2).
    """
    known = document_type(None, body)
    if known is not None:
        return known
    return "application/octet-stream" if _BINARY.search(body[:_SNIFFED_BYTES]) else "text/plain"
