"""How texts and queries become words, the same for all engines: what is found is what stands there."""

from __future__ import annotations

import re
from unicodedata import is_normalized, normalize

READING = 2
"""Of this module and of the fields of an index; an index that was written with another one is not gone on with."""

UNSPACED = (*("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"),)
"""Scripts in which words stand without spaces between them, or with endings that are words of their own (Korean).
Each character is a word there, and several typed together are a phrase.
"""
UNSPACED_MARKS = "\u3031-\u3035\u309b\u309c\u30fc\uff70\uff9e\uff9f"
"""Characters that several of these scripts share and Unicode gives to none, the sign for a long vowel among them."""
JOINING = "_\u200c"
"""What joins words to a name, and in Persian parts of a word: each of them is found, and the whole as a phrase."""

_UNSEEN = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")
_HALF_WIDTH = re.compile("[\uff61-\uffdc]+")


def plain(text: str) -> str:
    """Text as its words are read: composed (NFC), in full width, without what only tells where a line may break."""
    if text.isascii():
        return text
    text = text.translate(_UNSEEN)
    if not is_normalized("NFC", text):
        text = normalize("NFC", text)
    return _HALF_WIDTH.sub(_in_full_width, text)


def _in_full_width(found: re.Match[str]) -> str:
    return normalize("NFKC", found[0])
