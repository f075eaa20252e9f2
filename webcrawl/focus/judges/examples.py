"""Pages like those that were given as examples."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.documents.charset import encoding_of
from webcrawl.focus.errors import FocusError
from webcrawl.focus.page import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webcrawl.focus.page import FetchedPage

FILES_MAX = 1_000
FILE_BYTES_MAX = 1 << 20
TERMS_MAX = 5_000
"""Words of a page that are looked at."""
KNOWN_MAX = 200_000
"""Words whose frequency is remembered."""
ALONE = 0.4
"""How like an example a page is taken to be that is as like it as another of the kind, where there is but one."""
_PATIENCE = 50
"""Pages that are seen before much is believed of what is usual."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_MARKUP = re.compile(r"\s*<[!?a-zA-Z]")


def read(places: str) -> list[str]:
    """The texts of files, divided by commas; of a folder those of all files in it. Files that begin like markup are
    read as HTML. :raises FocusError: there are none, or one cannot be read
    """
    texts = []
    for path in islice(_files(places), FILES_MAX):
        try:
            with path.open("rb") as file:
                body = file.read(FILE_BYTES_MAX)
        except OSError as error:
            raise FocusError(f"{path}: {error.strerror}") from error
        text = body.decode(encoding_of(body, None), "replace")
        texts.append(visible(text) if _MARKUP.match(text) else text)
    if not any(_WORD.search(text) for text in texts):
        raise FocusError(f"there is no text in {places!r}")
    return texts


def _files(places: str) -> Iterator[Path]:
    for place in filter(None, map(str.strip, places.split(","))):
        path = Path(place)
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.is_file())
        else:
            yield path


class Examples:
    """The cosine between a page and the mean of the examples (Rocchio 1971), with TF-IDF weights: (1 + log tf) times
    the idf among the pages of this crawl so far. It is 0 for a page that is no more like them than pages usually are,
    and 1 for one as like them as they are each other.
    """

    is_slow = True

    def __init__(self, texts: Sequence[str]) -> None:
        self._examples = [counts for text in texts if (counts := Counter(_terms(text)))]
        self._pages = 0
        self._having: Counter[str] = Counter()
        self._usual = 0.0
        self._weighed_at = 0
        self._weigh()

    def relevance(self, page: FetchedPage) -> float:
        counts = Counter(_terms(f"{page.title} {page.text}"))
        if not counts:
            return 0.0
        self._learn(counts)
        like = _cosine(self._vector(counts), self._middle)
        # What is usual is a mean over all pages, of which those that are looked for are few.
        self._usual += (like - self._usual) / (self._pages + _PATIENCE)
        span = max(self._full - self._usual, 1e-6)
        return min(max((like - self._usual) / span, 0.0), 1.0)

    def promises(self, url: str, text: str) -> bool:
        return False

    def _learn(self, counts: Iterable[str]) -> None:
        self._pages += 1
        self._having.update(set(counts))
        if len(self._having) > KNOWN_MAX:
            self._having = Counter(dict(self._having.most_common(KNOWN_MAX // 2)))
        if self._pages >= 1.3 * self._weighed_at + 10:
            self._weigh()

    def _weigh(self) -> None:
        """What the examples have in common, with the frequencies known by now."""
        self._weighed_at = self._pages
        vectors = [_normal(self._vector(counts)) for counts in self._examples]
        total: dict[str, float] = {}
        for vector in vectors:
            for word, value in vector.items():
                total[word] = total.get(word, 0.0) + value
        self._middle = total
        if len(vectors) == 1:
            self._full = ALONE
            return
        without = []
        for vector in vectors:
            others = {word: value - vector.get(word, 0.0) for word, value in total.items()}
            without.append(_cosine(vector, others))
        self._full = max(sum(without) / len(without), 0.05)

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        pages, having = self._pages + 2, self._having
        return {
            word: (1 + math.log(count)) * math.log(pages / (having.get(word, 0) + 1) + 1)
            for word, count in counts.items()
        }


def _terms(text: str) -> list[str]:
    return [match[0] for match in islice(_WORD.finditer(text.lower()), TERMS_MAX)]


def _length(vector: Mapping[str, float]) -> float:
    return math.sqrt(sum(value * value for value in vector.values()))


def _normal(vector: dict[str, float]) -> dict[str, float]:
    length = _length(vector) or 1.0
    return {word: value / length for word, value in vector.items()}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    lengths = _length(one) * _length(other)
    if not lengths:
        return 0.0
    return sum(value * other.get(word, 0.0) for word, value in one.items()) / lengths
