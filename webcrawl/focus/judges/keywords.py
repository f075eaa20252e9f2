"""Pages that speak of certain words."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import re2

from webcrawl.focus.errors import FocusError

if TYPE_CHECKING:
    from webcrawl.focus.page import FetchedPage

IN_TITLE = 5.0
"""An occurrence in the title counts for so many in the text."""
HALF = 3.0
"""So many occurrences in a text of usual length make half of the relevance that a keyword can give."""
USUAL_WORDS = 500
LENGTH_COUNTS = 0.5
"""How far a longer text needs more occurrences (the parameter b of Okapi BM25, Robertson & Zaragoza 2009)."""
_CHARACTERS_A_WORD = 6
_UNDIVIDED = "\u2e80"
"""From this character on, scripts do not divide words by spaces."""


class Keywords:
    """Words and phrases, divided by commas, in any case. Each gives n / (n + k) of its occurrences, which saturates;
    a page that speaks of several is more relevant than one that speaks of one: 1 - (1 - a)(1 - b)...
    """

    is_slow = False

    def __init__(self, keywords: str) -> None:
        words = [" ".join(word.lower().split()) for word in keywords.split(",")]
        self._words = list(dict.fromkeys(word for word in words if word))
        if not self._words:
            raise FocusError("it has no keyword")
        if any(not any(map(str.isalnum, word)) for word in self._words):
            raise FocusError("a keyword has neither letter nor digit")
        longest_first = sorted(self._words, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_as_pattern, longest_first)))
        # What is not in the markup is not in the text, unless a character is written as a reference.
        self._first_look = None
        if keywords.isascii():
            parts = "|".join(re2.escape(word.split()[0]) for word in self._words)
            self._first_look = re2.compile(f"(?i){parts}")

    def relevance(self, page: FetchedPage) -> float:
        counts = self._counts(page.title)
        for word in counts:
            counts[word] *= IN_TITLE
        if "text" in page.fields or self._first_look is None or self._first_look.search(page.markup):
            text = page.text
            for word, count in self._counts(text).items():
                counts[word] = counts.get(word, 0.0) + count
        else:
            text = ""
        if not counts:
            return 0.0
        length = len(text) / _CHARACTERS_A_WORD / USUAL_WORDS
        half = HALF * (1 - LENGTH_COUNTS + LENGTH_COUNTS * max(length, 1.0))
        without = 1.0
        for count in counts.values():
            without *= half / (count + half)
        return 1.0 - without

    def promises(self, url: str, text: str) -> bool:
        said = f"{text} {url}"
        if self._first_look is not None and self._first_look.search(said) is None:
            return False
        return self._pattern.search(said.lower()) is not None

    def _counts(self, text: str) -> dict[str, float]:
        found = self._pattern.findall(text.lower())
        return dict(Counter(" ".join(one.split()) for one in found).items())


def _as_pattern(word: str) -> str:
    pattern = r"\s+".join(map(re.escape, word.split()))
    begin = r"(?<!\w)" if word[0] < _UNDIVIDED else ""
    end = r"(?!\w)" if word[-1] < _UNDIVIDED else ""
    return f"{begin}{pattern}{end}"
