"""Settings of full text: by which engine pages are found, and how their words are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from webcrawl.config.checks import Read
from webcrawl.config.readers import EMPTY, Reader, Refusal, choice, real
from webcrawl.config.setting import setting
from webcrawl.errors import Problem
from webcrawl.search import engine

DEFAULT = "webcrawl.search.tantivy.Tantivy"


def engine_path() -> Reader:
    """The import path of a search engine. Only that of another one than the default is imported to be looked at."""
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

    return Reader(allowed, read)


def server_url() -> Reader:
    """Where a server is, with the name of its index; None when empty."""

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

    return Reader("a URL such as http://HOST:9200/INDEX", read)


def search_contradictions(read: Read) -> Iterator[Problem]:
    """What an engine lacks; settings that are wrong alone are left out."""
    if read.keys() >= {"SEARCH_ENGINE", "SEARCH_URL"} and not read["SEARCH_URL"]():
        path = read["SEARCH_ENGINE"]()
        if path != DEFAULT and engine.load(path).is_server:
            yield Problem("SEARCH_URL", f"must say where the server of {path} is")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    search_engine: str = setting(engine_path(), DEFAULT, "", "what finds pages by words")
    search_url: str | None = setting(
        server_url(), None, "", "where the server of a search engine is, and its index"
    )
    search_stemmer: str = setting(
        choice(engine.NO_STEMMER, *engine.STEMMERS),
        "english",
        "",
        "whose rules make one word of crawls and crawling",
    )
    search_interval_seconds: float = setting(
        real(0.1, 3600), 10.0, "seconds", "how often what was fetched is brought into the search index"
    )
