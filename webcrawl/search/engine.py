"""The contract of a search engine: what an index is written and read by. The setting ``SEARCH_ENGINE`` names one.

One answer out of the indexes of several workers.

What people type to find pages, read once for all engines.

::

    two words           both must be there, in title, text or boilerplate
    "two words"         one behind the other
    -word, -"two words" must not be there, except in boilerplate
    one OR two          one of them is enough; more than two may be joined

How texts and queries become words, the same for all engines: what is found is what stands there.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar
from unicodedata import is_normalized, normalize

from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from webcrawl.search.document import Change


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


LONGEST = 1_000
"""Characters of a query."""
MOST = 64
"""Words and phrases of a query."""

_OR = "OR"
_PIECE = re.compile(r'\s*(?:(?P<minus>-?)"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))')


class QueryError(ValueError):
    """A query that cannot be understood; says why."""


@dataclass(frozen=True, slots=True)
class Query:
    """Each of ``required`` is a choice of words and phrases, of which a page has at least one; of ``excluded`` it has
    none. What a word is is for the engine to say: several in one text stand behind each other in the page.
    """

    required: tuple[tuple[str, ...], ...]
    excluded: tuple[str, ...] = ()
    site: str | None = None
    language: str | None = None


def read(text: str, *, site: str | None = None, language: str | None = None) -> Query:
    """The query that was typed. Raises QueryError."""
    if len(text) > LONGEST:
        raise QueryError(f"is longer than {LONGEST} characters")
    required: list[tuple[str, ...]] = []
    excluded: list[str] = []
    joining = joinable = False
    for word, minus, quoted in _pieces(plain(text)):
        if word == _OR and not quoted:
            if not joinable:
                raise QueryError("has an OR that does not stand between two words")
            joining, joinable = True, False
            continue
        if minus:
            if joining:
                raise QueryError("excludes what is behind an OR")
            excluded.append(word)
        elif joining:
            required[-1] = (*required[-1], word)
        else:
            required.append((word,))
        joining, joinable = False, not minus
    if joining:
        raise QueryError("has an OR that does not stand between two words")
    if not required:
        raise QueryError("says only what must not be there" if excluded else "has no word")
    return Query(tuple(required), tuple(excluded), _site(site), language.lower() if language else None)


def _pieces(text: str) -> list[tuple[str, bool, bool]]:
    """Words and phrases: what is searched for, whether a minus stands before it, whether it is in quotes."""
    pieces: list[tuple[str, bool, bool]] = []
    text, at = text.strip(), 0
    while at < len(text):
        match = _PIECE.match(text, at)
        assert match is not None
        at = match.end()
        word, quoted = match["word"], match["word"] is None
        minus = bool(match["minus"]) if quoted else word.startswith("-")
        if quoted and not match["end"]:
            raise QueryError("has a quotation mark that is not closed")
        said = match["phrase"] if quoted else word.removeprefix("-")
        if any(map(str.isalnum, said)):
            pieces.append((" ".join(said.split()), minus, quoted))
        if len(pieces) > MOST:
            raise QueryError(f"has more than {MOST} words")
    return pieces


def _site(site: str | None) -> str | None:
    """A site's name as documents have it."""
    if not site:
        return None
    name = site.strip().lower().strip(".")
    if not name or not re.fullmatch(r"[^\s/?#@]+", name):
        raise QueryError(f"{site!r} is no name of a site")
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        raise QueryError(f"{site!r} is no name of a site") from None


STEMMERS = (
    *("arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian"),
    *("norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish"),
)
"""Languages whose words can be reduced to their stems (Snowball)."""


NO_STEMMER = "none"
"""Words are found as they are written."""


class EngineError(CrawlError):
    """The index cannot be used; waiting does not help."""


class EngineAway(EngineError):  # noqa: N818 - a state, not a mistake
    """The index cannot be used now: the server is away, the disk is full. The same step may be tried again."""


Piece = tuple[str, bool]
"""Some text, and whether it is what was searched for."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found."""

    url: str
    title: str
    language: str | None
    score: float
    """How well it fits: the higher the better, comparable within one kind of engine."""
    at: float
    """Epoch seconds when the page was fetched."""
    snippet: Sequence[Piece]
    """A stretch of its text around what was searched for."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best of the pages that were found, best first, and how many there are in all."""

    hits: Sequence[Hit]
    count: int


@dataclass(frozen=True, slots=True)
class Options:
    """What the settings say to an engine, as plain values."""

    url: str = ""
    """Where a server is; an embedded engine has no use for it."""
    stemmer: str = NO_STEMMER
    """One of ``STEMMERS``, or none."""


BOOSTS = {"title": 3.0, "headings": 1.5, "text": 1.0, "boilerplate": 0.1}
"""What a word counts that stands there; a field of an index each."""
NOT_EXCLUDED_BY = "boilerplate"
"""A word there does not make a page one that has it, for those who want none that has: menus name everything."""


class Engine(ABC):
    """Derive from it. One process writes, any number search meanwhile.

    All methods wait. They raise EngineAway or EngineError, and what a library raises is turned into one of these.
    """

    is_server: ClassVar[bool] = False
    """Whether one index serves all workers; else each has its own below its folder."""

    @abstractmethod
    def __init__(self, folder: Path, options: Options) -> None:
        """Touches nothing yet. ``folder`` is the crawl's for all that has to do with search."""

    @abstractmethod
    def begin(self) -> None:
        """Get ready to write; make the index where there is none."""

    @abstractmethod
    def put(self, changes: Sequence[Change]) -> None:
        """Take changes, the last one of a URL counts. When it returns they are durable and can be found; when it
        raises, the same changes come again, and so they may after a crash.
        """

    @abstractmethod
    def finish(self) -> None:
        """Nothing more will be written, or asked: merge what is worth it, let go of everything."""

    @abstractmethod
    def search(self, query: Query, limit: int) -> Found:
        """The best ``limit`` pages for a query. Also on an index that is being written."""


def load(path: str) -> type[Engine]:
    """The engine with this import path. Raises ImportError when there is none, TypeError when it is no engine."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    if not isinstance(found, type) or not issubclass(found, Engine):
        raise TypeError(f"{path} is no class that derives from {Engine.__module__}.Engine")
    if unmade := sorted(found.__abstractmethods__):
        raise TypeError(f"{path} lacks {', '.join(unmade)}")
    return found


def merged(answers: Iterable[Found], limit: int) -> Found:
    """The best of all by their scores. A page that several have counts once, as it was fetched last; the count is of
    all, so it may have those twice that are not among the best.
    """
    best: dict[str, Hit] = {}
    count = twice = 0
    for found in answers:
        count += found.count
        for hit in found.hits:
            known = best.get(hit.url)
            twice += known is not None
            if known is None or hit.at > known.at:
                best[hit.url] = hit
    hits = sorted(best.values(), key=lambda hit: (-hit.score, hit.url))
    return Found(hits[:limit], count - twice)
