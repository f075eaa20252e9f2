"""The characters of texts and queries, for the division into words, which is the same for all engines."""

from __future__ import annotations

import re
from unicodedata import is_normalized, normalize

UNSPACED = (*("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"),)
"""Scripts without spaces between words, or with endings that are words of their own (Korean). Each character is a
word there, and several adjacent ones in a query are a phrase.
"""
UNSPACED_MARKS = "\u3031-\u3035\u309b\u309c\u30fc\uff70\uff9e\uff9f"
"""Characters that several of these scripts share and Unicode assigns to none, the sign for a long vowel among
them.
"""
JOINING = "_\u200c"
"""Characters that join words to a name, and in Persian parts of a word: each part is found, and the whole as a
phrase.
"""

_UNSEEN = str.maketrans("", "", "\u00ad\u200b\u2060\ufeff")
_HALF_WIDTH = re.compile("[\uff61-\uffdc]+")


def plain(text: str) -> str:
    """Return text in the form in which words are compared: composed (NFC), in full width, without line-break
    hints.
    """
    if text.isascii():
        return text
    text = text.translate(_UNSEEN)
    if not is_normalized("NFC", text):
        text = normalize("NFC", text)
    return _HALF_WIDTH.sub(_in_full_width, text)


def _in_full_width(match: re.Match[str]) -> str:
    return normalize("NFKC", match[0])
