"""The download handler for gopher (RFC 1436, RFC 4266): one selector a connection, and no status.

A server reports an error by a menu with an item of type 3, which is read as 404. By custom the robots.txt of a server
has that selector.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from scrapy.exceptions import UnsupportedURLSchemeError

from webcrawl.fetching.failures import EmptyResponseError
from webcrawl.fetching.scheme_handler import SchemeHandler
from webcrawl.parsing.menu import FOLLOWED_TYPES
from webcrawl.parsing.mime import GOPHER_MENU, type_of_name

if TYPE_CHECKING:
    from webcrawl.fetching.scheme_handler import SchemeTransfer

MENU, QUERY, IMAGES = "1", "7", "Ip:"
_TYPES = {
    "0": "text/plain",
    MENU: GOPHER_MENU,
    QUERY: GOPHER_MENU,
    "h": "text/html",
    "g": "image/gif",
    "d": "application/pdf",
    "X": "text/xml",
    "M": "message/rfc822",
}
_NOT_IN_SELECTORS = re.compile(rb"[\r\n\0]")
_ERROR = re.compile(rb"3[^\t\r\n]*\t[^\t\r\n]*\t[^\t\r\n]*\t\d+[^\r\n]*(?:\r?\n|\Z)")


class GopherDownloadHandler(SchemeHandler):
    """``gopher://HOST/TSELECTOR``, where ``T`` is the item type; a URL without a path is the main menu."""

    robots_path = "/0/robots.txt"

    async def fetch(self, transfer: SchemeTransfer) -> None:
        """Send the selector and receive the document."""
        kind, selector = _read_item(transfer.path)
        mime = _mime_type(kind, transfer.path)
        if mime is None and kind in IMAGES:
            transfer.refuse_unwanted("image/*")
        transfer.refuse_unwanted(mime)
        stream = await transfer.connect()
        stream.write(selector + b"\r\n")
        first = await stream.read()
        if not first:
            raise EmptyResponseError("the server closed the connection without an answer")
        if _ERROR.match(first) and kind in (MENU, QUERY, "0", "h"):
            transfer.begin(404, reply="3")
        elif transfer.begin(200, mime):
            await transfer.receive(stream, first)


def _read_item(path: str) -> tuple[str, bytes]:
    """Return the item type and the selector of the path of a URL.

    Raises UnsupportedURLSchemeError for a type that names no document, and a selector that cannot be sent.
    """
    kind, selector = path[1:2] or MENU, unquote_to_bytes(path[2:])
    if kind not in FOLLOWED_TYPES | {QUERY}:
        raise UnsupportedURLSchemeError(f"the item type {kind!r} of Gopher names no document")
    if _NOT_IN_SELECTORS.search(selector):
        raise UnsupportedURLSchemeError(f"a selector with a line break or a zero byte: {path!r}")
    return kind, selector


def _mime_type(kind: str, path: str) -> str | None:
    """Return the MIME type of an item; None if its first bytes have to tell."""
    return _TYPES.get(kind) or type_of_name(path)
