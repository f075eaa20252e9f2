"""Searches the indexes of a crawl: one of each worker's JOBDIR, or one in a server that all share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.errors import CrawlError
from webcrawl.search.engine import Options, load, merged
from webcrawl.search.indexer import finish_left
from webcrawl.search.marking import read_marking
from webcrawl.search.store import FOLDER, SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.search.engine import Engine, Query, SearchResults


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The settings that say where the pages of a crawl are indexed: ``SEARCH_ENGINE``, ``SEARCH_URL``,
    ``SEARCH_STEMMER``.
    """

    engine: str
    url: str | None
    stemmer: str


class NoIndexError(CrawlError):
    """There is no search index; the message names the sink that keeps one."""


def search(folders: Sequence[Path], settings: IndexSettings, query: Query, limit: int) -> SearchResults:
    """Return the best ``limit`` pages of all indexes together. The crawl may be running.

    :raises NoIndexError: a folder has none :raises CrawlError: one cannot be used with these settings, or not be read
    """
    # All are opened before one is searched: a wrong folder is an error without a wait.
    return merged(
        [_search_engine(engine, query, limit) for engine in list(_engines(folders, settings))], limit
    )


def _search_engine(engine: Engine, query: Query, limit: int) -> SearchResults:
    try:
        return engine.search(query, limit)
    finally:
        engine.finish()


def _engines(folders: Sequence[Path], settings: IndexSettings) -> Iterator[Engine]:
    kind = load(settings.engine)
    if kind.is_server:
        yield kind(Path(), Options(settings.url or "", settings.stemmer))
        return
    if not folders:
        raise CrawlError("which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
    for path in folders:
        if not path.is_dir():
            raise CrawlError(f"{path}: is no folder")
        marking = read_marking(path / FOLDER)
        if marking is None:
            raise NoIndexError(
                f"{path}: holds no search index; a crawl keeps one with {_SINK} in ARCHIVE_SINKS"
            )
        marking.check(path / FOLDER)
        if marking.engine != settings.engine:
            raise CrawlError(
                f"{path}: was written with another engine; give -s SEARCH_ENGINE={marking.engine}"
            )
        options = Options(settings.url or "", marking.stemmer)
        finish_left(path / FOLDER, kind(path / FOLDER, options))
        yield kind(path / FOLDER, options)


_SINK = f"{SearchIndex.__module__}.{SearchIndex.__qualname__}"
