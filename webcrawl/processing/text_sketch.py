"""A sketch of a page's main text: near-duplicate texts have similar sketches, whatever surrounds the text.

The sketch is the smallest hashes of the text's shingles, runs of three words (Broder, 1997): a random sample of them,
by one hash function. The share of hashes that two samples have in common estimates the resemblance of the texts: the
number of shingles that both have, divided by the number that either has.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from math import sqrt
from sys import byteorder
from typing import TYPE_CHECKING, Any, ClassVar

from xxhash import xxh32_intdigest

from webcrawl.processing.main_text import HTML, main_text

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content

FIELD = "sketch"

HASHES = 128
"""Hashes of a sketch, of four bytes each."""
WORDS = 3
"""Words of a shingle."""
SHINGLES_MIN = 32
"""Shingles of the shortest text that has a sketch: one changed word of a shorter one is much of it, and short texts,
such as messages of errors, are alike without meaning the same."""
LETTERS_MAX = 16
"""The largest mean number of characters of a word. A text with more is written without spaces, as Chinese and Thai
are, and its characters are its words."""

RECORDED = 0.85
"""The least resemblance of near-duplicates."""
ERRORS = 2.0
"""The standard errors by which an estimate must be above ``RECORDED`` before anything is withheld."""

_IS_LITTLE = byteorder == "little"


def sketch(text: str) -> bytes:
    """Return the sketch of a text, empty for a short text. Case and white space do not count."""
    lower = text.lower()
    words = lower.encode("utf-8", "surrogatepass").split()
    if len(lower) > LETTERS_MAX * (len(words) + 1):
        words = [each.encode("utf-8", "surrogatepass") for each in "".join(lower.split())]
    count = len(words) - WORDS + 1
    if count < SHINGLES_MIN:
        return b""
    hashes = map(xxh32_intdigest, map(b" ".join, zip(words, words[1:], words[2:], strict=False)))
    smallest = _smallest(hashes, count)
    return b"" if len(smallest) < SHINGLES_MIN else _packed(smallest)


def _smallest(hashes: Iterable[int], count: int) -> list[int]:
    """Return the smallest of ``count`` hashes in ascending order, each once."""
    if count < 4 * HASHES:
        return sorted(set(hashes))[:HASHES]
    hashes = list(hashes)
    # Twice as many as needed are expected below this, unless the text repeats itself.
    limit = (2 * HASHES << 32) // count
    sample = {each for each in hashes if each < limit}
    return sorted(sample if len(sample) >= HASHES else set(hashes))[:HASHES]


def _packed(hashes: list[int]) -> bytes:
    values = array("I", hashes)
    if not _IS_LITTLE:
        values.byteswap()
    return values.tobytes()


def hashes_in(packed: bytes) -> list[int]:
    """Return the hashes of a sketch in ascending order. Raises ValueError for what is none."""
    values = array("I")
    values.frombytes(packed)
    if not _IS_LITTLE:
        values.byteswap()
    return values.tolist()


def resemblance(one: Iterable[int], other: Iterable[int]) -> tuple[float, float]:
    """Return the estimated resemblance of two texts, given the hashes of their sketches, and its standard error."""
    these, those = set(one), set(other)
    sample = sorted(these | those)[:HASHES]
    if not sample:
        return 0.0, 0.0
    shared = len(these.intersection(sample) & those)
    share = shared / len(sample)
    return share, sqrt(share * (1 - share) / len(sample))


class TextSketch:
    """The sketch of an HTML page's main text, as a module: see ``TextDigest``."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {FIELD: "line"}

    def __init__(self) -> None:
        import webcrawl.processing.visible_text  # noqa: F401 - where it is used: in the processes of the pool

    def process(self, content: Content) -> Mapping[str, Any]:
        return {FIELD: sketch(main_text(content)).hex()}


PATH = f"{__name__}.{TextSketch.__name__}"
"""The import path of the module, for the options of a pool."""
