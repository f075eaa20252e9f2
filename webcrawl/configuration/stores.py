"""Stores as a setting names them: each is imported, and looked at before a crawl begins."""

from __future__ import annotations

from webcrawl.archive import stores
from webcrawl.configuration.readers import Reader, Refusal, as_list


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
