"""Settings of full-text search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from webcrawl.config.checks import Read
from webcrawl.config.readers import EMPTY, Refusal, SettingReader, choice, real
from webcrawl.config.setting import setting
from webcrawl.errors import Problem
from webcrawl.search import engine

DEFAULT = "webcrawl.search.tantivy.Tantivy"
_INDEXES = frozenset({"webcrawl.search.store.SearchIndex"})
"""The archive sinks that need an engine."""


def engine_path() -> SettingReader:
    """The import path of a search engine. The default engine is not imported for the check."""
    allowed = "the import path of a search engine"

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise TypeError
        if value != DEFAULT:
            try:
                engine.load(value)
            except (ImportError, TypeError) as error:
                raise Refusal(f"must be {allowed} ({error})") from error
        return value

    return SettingReader(allowed, read)


def server_url() -> SettingReader:
    """The URL of a server, with the name of its index; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        parts = urlsplit(value)
        _ = parts.port
        if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.strip("/"):
            raise ValueError
        return value

    return SettingReader("a URL such as http://HOST:9200/INDEX", read)


def search_contradictions(read: Read) -> Iterator[Problem]:
    """Check that an engine has its server or its library. Settings that are wrong alone are left out."""
    if read.keys() >= {"SEARCH_ENGINE", "SEARCH_URL"} and not read["SEARCH_URL"]():
        path = read["SEARCH_ENGINE"]()
        if path != DEFAULT and engine.load(path).is_server:
            yield Problem(
                "SEARCH_URL", f"must be the URL of the server of {path}, such as http://HOST:9200/INDEX"
            )
    if read.keys() >= {"SEARCH_ENGINE", "ARCHIVE_SINKS"} and read["SEARCH_ENGINE"]() == DEFAULT:
        for path in _INDEXES.intersection(read["ARCHIVE_SINKS"]()):
            if find_spec(engine.TANTIVY) is None:
                yield Problem("ARCHIVE_SINKS", f"{engine.TANTIVY_MISSING}; or leave out {path}")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    search_engine: str = setting(engine_path(), DEFAULT, "", "Class that indexes and searches pages.")
    search_url: str | None = setting(
        server_url(), None, "", "Server of the search engine, and the name of its index."
    )
    search_stemmer: str = setting(
        choice(engine.NO_STEMMER, *engine.STEMMERS),
        "english",
        "",
        "Language whose rules reduce words to their stems (crawls and crawling are then one word).",
    )
    search_interval_seconds: float = setting(
        real(0.1, 3600), 10.0, "seconds", "Interval at which fetched pages are added to the search index."
    )
