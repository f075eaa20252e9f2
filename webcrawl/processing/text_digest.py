"""What a page says, as sixteen bytes: the same for pages with the same main text, whatever is around it."""

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
    """Sixteen bytes that stand for a text; none where it has neither letter nor digit: that is nothing which two
    pages could have in common.

    White space and line breaks do not count, nor how Unicode composes a letter. Capitals do: who corrects them has
    changed the text.
    """
    if not any(map(str.isalnum, text)):
        return b""
    return xxh3_128_digest(normalize("NFC", " ".join(text.split())).encode("utf-8", "surrogatepass"))


class TextDigest:
    """The digest of an HTML page's main text, as a module: extraction is heavy, and a page may end its process."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {_FIELD: "line"}

    def __init__(self) -> None:
        import resiliparse.extract.html2text  # noqa: F401 - where it is used: in the processes of the pool

    def process(self, content: Content) -> Mapping[str, Any]:
        return {_FIELD: text_digest(main_text(content)).hex()}


PATH = f"{__name__}.{TextDigest.__name__}"
"""The import path of the module, for the options of a pool."""


class TextDigests:
    """Has the processes of a pool digest the main text of pages."""

    def __init__(self, pool: Pool) -> None:
        """``pool``: has the module ``PATH``."""
        self._pool = pool
        self._number = pool.number(PATH)

    async def of(self, content: Content) -> bytes:
        """The digest of a page's main text; empty where there is no text, or a page of another type or one that ended
        the process has none to tell.

        :raises ProcessingBroken: no process can be started
        """
        if content.mime not in HTML:
            return b""
        [answer] = await self._pool.process(content.row(), [self._number])
        return bytes.fromhex(str(answer.fields.get(_FIELD, "")))

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
