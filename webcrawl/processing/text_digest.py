"""A digest of a page's main text: the same for pages with the same main text, whatever surrounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from unicodedata import normalize

from xxhash import xxh3_128_digest

from webcrawl.processing.main_text import HTML, main_text
from webcrawl.processing.text_sketch import FIELD as SKETCH

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


class TextMarks(NamedTuple):
    """What identifies the main text of a page; empty for pages without a text, and for modules that the pool
    lacks."""

    digest: bytes = b""
    """16 bytes; see ``text_digest``."""
    sketch: bytes = b""
    """See ``text_sketch``."""


class TextDigests:
    """Computes the digests and sketches of pages in the processes of a pool; a page is sent once for both."""

    def __init__(self, pool: Pool, modules: Sequence[str] = (PATH,)) -> None:
        """``modules``: those that are wanted, import paths which the pool has."""
        self._pool = pool
        self._numbers = [pool.number(path) for path in modules]

    async def of(self, content: Content) -> TextMarks:
        """Return the marks of a page's main text; they are empty for pages of other types, and if the page ended the
        process.

        :raises ProcessingBroken: no process can be started
        """
        if content.mime not in HTML:
            return TextMarks()
        fields: dict[str, Any] = {}
        for result in await self._pool.process(content.row(), self._numbers):
            fields |= result.fields
        digest, sketch = (bytes.fromhex(str(fields.get(name, ""))) for name in (_FIELD, SKETCH))
        return TextMarks(digest, sketch)

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
