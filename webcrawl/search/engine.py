"""The contract of a search engine, the query language, and the division of texts and queries into words.

The setting ``SEARCH_ENGINE`` names the engine. The results of the indexes of several workers are merged into one.
Queries are parsed and words are divided in the same way for all engines. The query language::

    two words           both must be there, in title, text or boilerplate
    "two words"         one behind the other
    -word, -"two words" must not be there, except in boilerplate
    one OR two          one of them is enough; more than two may be joined
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from webcrawl.errors import CrawlError
from webcrawl.search.characters import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from webcrawl.search.document import IndexChange


READING = 2
"""The version of this module and of the fields of an index; an index that was written with another one is not
continued.
"""

LONGEST = 1_000
"""The longest query in characters."""
MOST = 64
"""The most words and phrases of a query."""

_OR = "OR"
_PIECE = re.compile(r'\s*(?:(?P<minus>-?)"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))')


class QueryError(ValueError):
    """A query with an error; the message says which."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. Each of ``required`` is a choice of words and phrases, of which a page has at least one; of
    ``excluded`` it has none. The engine divides texts into words: several words in one text are adjacent in the page.
    """

    required: tuple[tuple[str, ...], ...]
    excluded: tuple[str, ...] = ()
    site: str | None = None
    language: str | None = None


def read(text: str, *, site: str | None = None, language: str | None = None) -> Query:
    """Parse a query. Raises QueryError."""
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
                raise QueryError("excludes a word behind an OR")
            excluded.append(word)
        elif joining:
            required[-1] = (*required[-1], word)
        else:
            required.append((word,))
        joining, joinable = False, not minus
    if joining:
        raise QueryError("has an OR that does not stand between two words")
    if not required:
        raise QueryError("has only words that are excluded" if excluded else "has no word")
    return Query(tuple(required), tuple(excluded), _site(site), language.lower() if language else None)


def _pieces(text: str) -> list[tuple[str, bool, bool]]:
    """Return words and phrases: the text, whether a minus precedes it, whether it is in quotes."""
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
        words = match["phrase"] if quoted else word.removeprefix("-")
        if any(map(str.isalnum, words)):
            pieces.append((" ".join(words.split()), minus, quoted))
        if len(pieces) > MOST:
            raise QueryError(f"has more than {MOST} words")
    return pieces


def _site(site: str | None) -> str | None:
    """Return a site's name in the form of documents."""
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
"""Words are matched as they are written."""


class EngineError(CrawlError):
    """The index cannot be used; waiting does not help."""


class EngineAway(EngineError):  # noqa: N818 - a state, not a mistake
    """The index cannot be used at present: the server is unavailable, the disk is full. The same step may be tried
    again.
    """


Piece = tuple[str, bool]
"""A piece of text, and whether it is a match."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that matches."""

    url: str
    title: str
    language: str | None
    score: float
    """The relevance: higher is better, comparable within one kind of engine."""
    at: float
    """Epoch seconds when the page was fetched."""
    snippet: Sequence[Piece]
    """An excerpt of its text around the matches."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The best matching pages, best first, and the total number of matches."""

    hits: Sequence[Hit]
    count: int


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of an engine, as plain values."""

    url: str = ""
    """The URL of a server; embedded engines ignore it."""
    stemmer: str = NO_STEMMER
    """One of ``STEMMERS``, or none."""


BOOSTS = {"title": 3.0, "headings": 1.5, "text": 1.0, "boilerplate": 0.1}
"""The weight of a word by the field of the index that it is in."""
NOT_EXCLUDED_BY = "boilerplate"
"""A word in this field does not count for exclusion: menus name everything."""


class Engine(ABC):
    """Base class of engines. One process writes, any number search meanwhile.

    All methods block. They raise EngineAway or EngineError, into which exceptions of libraries are turned.
    """

    is_server: ClassVar[bool] = False
    """True if one index serves all workers; else each has its own below its folder."""

    @abstractmethod
    def __init__(self, folder: Path, options: Options) -> None:
        """Store the parameters only. ``folder`` is the crawl's folder for search."""

    @abstractmethod
    def begin(self) -> None:
        """Prepare to write; create the index if there is none."""

    @abstractmethod
    def put(self, changes: Sequence[IndexChange]) -> None:
        """Apply changes; the last one of a URL counts. When it returns they are durable and searchable; when it
        raises, the same changes come again, and so they may after a crash.
        """

    @abstractmethod
    def finish(self) -> None:
        """End all writing and searching: merge segments if that is worth it, and release all resources."""

    @abstractmethod
    def search(self, query: Query, limit: int) -> SearchResults:
        """Return the best ``limit`` pages for a query. Also on an index that is being written."""


TANTIVY = "tantivy"
TANTIVY_MISSING = "the search index needs tantivy, which is not installed: pip install tantivy"


def load(path: str) -> type[Engine]:
    """Return the engine with this import path. Raises ImportError if there is none, TypeError if it is no engine,
    EngineError if the library of the default engine is not installed.
    """
    module, _, name = path.rpartition(".")
    try:
        engine_class = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name == TANTIVY:
            raise EngineError(TANTIVY_MISSING) from error
        raise
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    if not isinstance(engine_class, type) or not issubclass(engine_class, Engine):
        raise TypeError(f"{path} is no class that derives from {Engine.__module__}.Engine")
    if unmade := sorted(engine_class.__abstractmethods__):
        raise TypeError(f"{path} lacks {', '.join(unmade)}")
    return engine_class


def merged(results: Iterable[SearchResults], limit: int) -> SearchResults:
    """Return the best of all by their scores. A page that several indexes have counts once, with its last fetch; the
    count is the sum, so it may count pages twice that are not among the best.
    """
    best: dict[str, Hit] = {}
    count = twice = 0
    for result in results:
        count += result.count
        for hit in result.hits:
            known = best.get(hit.url)
            twice += known is not None
            if known is None or hit.at > known.at:
                best[hit.url] = hit
    hits = sorted(best.values(), key=lambda hit: (-hit.score, hit.url))
    return SearchResults(hits[:limit], count - twice)
