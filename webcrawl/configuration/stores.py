"""Where else things are kept: what settings name is looked at before a crawl begins."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from webcrawl.archive import stores
from webcrawl.archive.upload import remote_of
from webcrawl.configuration.contradictions import Read
from webcrawl.configuration.readers import EMPTY, Reader, Refusal, as_list
from webcrawl.errors import Problem
from webcrawl.processing.module import load, schema_of

_FOUND_BY = {
    "text": "webcrawl.processing.main_text.MainText",
    "language": "webcrawl.processing.language.Language",
}
"""Modules that come with the project, by a field that a store may need."""


def store_paths() -> Reader:
    """Import paths of stores, each once, in their order."""
    allowed = "a list of import paths of stores"

    def read(value: object) -> tuple[str, ...]:
        found = tuple(as_list(value))
        if len(set(found)) < len(found):
            raise Refusal("must be a list that names each store once")
        for path in found:
            try:
                stores.load(path)
            except (ImportError, TypeError) as error:
                raise Refusal(f"must be {allowed} ({error})") from error
        return found

    return Reader(allowed, read)


def upload_url() -> Reader:
    """The URL of a folder that fsspec can write to; None when empty."""
    allowed = "a URL that fsspec knows, such as s3://BUCKET/FOLDER or file:///FOLDER"

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str) or not urlsplit(value).scheme:
            raise ValueError
        try:
            remote_of(value)
        except (ImportError, ValueError, OSError) as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        return value

    return Reader(allowed, read)


def store_contradictions(read: Read) -> Iterator[Problem]:
    """Fields that stores need and no module finds; settings that are wrong alone are left out."""
    if not read.keys() >= {"STORES", "PROCESSING_MODULES"} or not (paths := read["STORES"]()):
        return
    found = {"title", *schema_of(map(load, read["PROCESSING_MODULES"]()))}
    for path in paths:
        missing = [name for name in stores.load(path).fields_needed if name not in found]
        for name in missing:
            by = f", such as {_FOUND_BY[name]}" if name in _FOUND_BY else ""
            yield Problem(
                "PROCESSING_MODULES", f"must have a module that finds {name}{by}; {path} in STORES needs it"
            )
