"""A digest of a page's main text: the same for pages with the same main text, whatever surrounds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from unicodedata import normalize

from xxhash import xxh3_128_digest

from webcrawl.processing.main_text import HTML, main_text

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content
    from webcrawl.processing.pool import Pool

_FIELD = "digest"


def text_digest(text: str) -> bytes:
    """Return a digest of a text, 16 bytes; empty if it has neither letter nor digit, since such pages have nothing in
    common.

    White space and line breaks do not count, nor does the Unicode composition of letters. Case counts, since a
    correction of it changes the text.
    """
    if not any(map(str.isalnum, text)):
        return b""
    return xxh3_128_digest(normalize("NFC", " ".join(text.split())).encode("utf-8", "surrogatepass"))


class TextDigest:
    """The digest of an HTML page's main text, as a module: extraction is heavy, and a page may end its process."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {_FIELD: "line"}

    def __init__(self) -> None:
        import webcrawl.processing.visible_text  # noqa: F401 - where it is used: in the processes of the pool

    def process(self, content: Content) -> Mapping[str, Any]:
        return {_FIELD: text_digest(main_text(content)).hex()}


PATH = f"{__name__}.{TextDigest.__name__}"
"""The import path of the module, for the options of a pool."""


class TextDigests:
    """Computes the digests of pages in the processes of a pool."""

    def __init__(self, pool: Pool) -> None:
        """``pool``: has the module ``PATH``."""
        self._pool = pool
        self._number = pool.number(PATH)

    async def of(self, content: Content) -> bytes:
        """Return the digest of a page's main text; empty if there is no text, for pages of other types, and if the
        page ended the process.

        :raises ProcessingBroken: no process can be started
        """
        if content.mime not in HTML:
            return b""
        [result] = await self._pool.process(content.row(), [self._number])
        return bytes.fromhex(str(result.fields.get(_FIELD, "")))

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
