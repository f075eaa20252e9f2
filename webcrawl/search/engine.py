"""The contract of a search engine: what an index is written and read by. The setting ``SEARCH_ENGINE`` names one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from webcrawl.search.document import Change
    from webcrawl.search.query import Query

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
