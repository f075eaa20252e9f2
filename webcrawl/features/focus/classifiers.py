"""The kinds of relevance classifiers: by example pages, by an expression, by keywords, by MIME types, and by a model
of scikit-learn."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from importlib import import_module
from itertools import islice
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

import re2

from webcrawl.features.focus.relevance import FocusError, Function, visible
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.mime import unwanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webcrawl.features.focus.relevance import Classifier, FetchedPage


FILES_MAX = 1_000
FILE_BYTES_MAX = 1 << 20
TERMS_MAX = 5_000
"""Maximum number of words of a page that are read."""
KNOWN_MAX = 200_000
"""Maximum number of words whose frequency is remembered."""
ALONE = 0.4
"""The similarity to a single example that counts as full relevance."""
_PATIENCE = 50
"""Number of pages by which the mean similarity is damped at the beginning."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_MARKUP = re.compile(r"\s*<[!?a-zA-Z]")


def read(places: str) -> list[str]:
    """Return the texts of files, given separated by commas; of a folder those of all files in it. Files that begin
    like markup are parsed as HTML. :raises FocusError: there are none, or one cannot be read"""
    texts = []
    for path in islice(_files(places), FILES_MAX):
        try:
            with path.open("rb") as file:
                body = file.read(FILE_BYTES_MAX)
        except OSError as error:
            raise FocusError(f"{path}: {error.strerror}") from error
        text = body.decode(detect_encoding(body, None), "replace")
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
    """Classifier by similarity to example pages: the cosine between a page and the mean of the examples (Rocchio
    1971), with TF-IDF weights: (1 + log tf) times the idf among the pages of this crawl so far. It is 0 for a page
    that is no more similar to them than pages usually are, and 1 for one as similar to them as they are to each
    other."""

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
        # The usual similarity is a mean over all pages, few of which are relevant.
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
        """Recompute the mean of the examples with the current word frequencies."""
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


MEMORY_BYTES = 8 << 20


class Expression:
    """Classifier by an expression (RE2 syntax): 1 for a page whose URL, title or text matches, 0 for all others."""

    is_slow = False

    def __init__(self, expression: str) -> None:
        options = re2.Options()
        options.max_mem = MEMORY_BYTES
        options.log_errors = False
        try:
            self._pattern = re2.compile(expression, options)
        except re2.error as error:
            raise FocusError(f"{expression!r} is no expression: {_reason(error)}") from error
        if self._pattern.search(""):
            raise FocusError(f"{expression!r} is found in every page")

    def relevance(self, page: FetchedPage) -> float:
        search = self._pattern.search
        return float(any(search(text) for text in (page.url, page.title)) or search(page.text) is not None)

    def promises(self, url: str, text: str) -> bool:
        search = self._pattern.search
        return search(text) is not None or search(url) is not None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


IN_TITLE = 5.0
"""Number of occurrences in the text that one in the title counts for."""
HALF = 3.0
"""Number of occurrences in a text of usual length that give half of a keyword's maximum relevance."""
USUAL_WORDS = 500
LENGTH_COUNTS = 0.5
"""Degree to which a longer text needs more occurrences (the parameter b of Okapi BM25, Robertson & Zaragoza 2009)."""
_CHARACTERS_A_WORD = 6
_UNDIVIDED = "\u2e80"
"""The first character of the scripts that do not separate words by spaces."""


class KeywordClassifier:
    """Classifier by words and phrases, separated by commas, in any case. Each gives n / (n + k) for n occurrences,
    which saturates; a page with several keywords is more relevant than a page with one of them:
    1 - (1 - a)(1 - b)..."""

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
        # A word that is not in the markup is not in the text, unless a character is written as a reference.
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
        searched = f"{text} {url}"
        if self._first_look is not None and self._first_look.search(searched) is None:
            return False
        return self._pattern.search(searched.lower()) is not None

    def _counts(self, text: str) -> dict[str, float]:
        matches = self._pattern.findall(text.lower())
        return dict(Counter(" ".join(match.split()) for match in matches).items())


def _as_pattern(word: str) -> str:
    pattern = r"\s+".join(map(re.escape, word.split()))
    begin = r"(?<!\w)" if word[0] < _UNDIVIDED else ""
    end = r"(?!\w)" if word[-1] < _UNDIVIDED else ""
    return f"{begin}{pattern}{end}"


_PATTERN = re.compile(r"[a-z0-9!#$&^_.+-]+/(?:\*|[a-z0-9!#$&^_.+-]+)")


class MimeTypes:
    """Classifier by MIME type: 1 for a document of one of the types (``video/*`` for all of a kind), 0 for all
    others. The links to such documents are learned, since a page has the worth of the pages it leads to."""

    is_slow = False

    def __init__(self, types: str) -> None:
        self._types = tuple(name.strip().lower() for name in types.split(","))
        for name in self._types:
            if not _PATTERN.fullmatch(name):
                raise FocusError(f"{name!r} is no MIME type such as application/pdf or video/*")

    def relevance(self, page: FetchedPage) -> float:
        return float(bool(page.mime) and not unwanted(page.mime, self._types))

    def promises(self, url: str, text: str) -> bool:
        last = url[url.rfind("/") + 1 :]
        if "?" in url:
            last = url.partition("?")[0].rpartition("/")[2]
        return "." in last and self._matches(last[last.rfind(".") :])

    @lru_cache(maxsize=1000)  # noqa: B019 - there is one classifier in a process
    def _matches(self, ending: str) -> bool:
        """Return whether files with this extension are of one of the types."""
        mime = guess_type("x" + ending.lower())[0]
        return mime is not None and not unwanted(mime, self._types)


MISSING = "scikit-learn is not installed; only focus=model: needs it: pip install scikit-learn"


class Model:
    """Classifier by a scikit-learn pipeline that takes texts: the probability of its last class, or its prediction.

    Loading such a file runs code in it. With skops (``.skops``), only types that skops trusts are loaded.
    """

    is_slow = True

    def __init__(self, place: str) -> None:
        self._model = _load(Path(place))
        if not hasattr(self._model, "predict"):
            raise FocusError(f"{place} holds no model: it has no method predict")
        self._probability = getattr(self._model, "predict_proba", None)

    def relevance(self, page: FetchedPage) -> float:
        texts = [f"{page.title}\n{page.text}"]
        if self._probability is not None:
            return float(self._probability(texts)[0][-1])
        return float(self._model.predict(texts)[0])

    def promises(self, url: str, text: str) -> bool:
        return False


def _load(path: Path) -> Any:
    if not path.is_file():
        raise FocusError(f"{path}: no such file")
    try:
        import_module("sklearn")
        library = import_module("skops.io" if path.suffix == ".skops" else "joblib")
    except ImportError as error:
        raise FocusError(MISSING if "skops" not in str(error) else f"{MISSING} skops") from error
    try:
        return library.load(path)
    except Exception as error:  # a pickle may raise anything
        raise FocusError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def classifier_for(focus: str) -> Classifier:
    """Return the classifier of a focus, see the setting ``FOCUS``. :raises FocusError: it is none of the allowed
    forms, or its file cannot be used."""
    focus = focus.strip()
    kind, colon, rest = focus.partition(":")
    if not focus:
        raise FocusError("it is empty")
    if not colon:
        return KeywordClassifier(focus)
    rest = rest.strip()
    if kind == "re":
        return Expression(rest)
    if kind == "mime":
        return MimeTypes(rest)
    if kind == "pages":
        return Examples(read(rest))
    if kind == "model":
        return Model(rest)
    return _imported(kind, rest)


def _imported(module: str, name: str) -> Classifier:
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise FocusError(f"{module!r} is none of re, mime, pages, model, and no module")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise FocusError(str(error)) from error
    if not callable(function):
        raise FocusError(f"{module}.{name} is no function")
    return Function(function)
