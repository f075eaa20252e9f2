"""How long a response of Scrapy's is fresh, by its header fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.parsing.caching import fresh_seconds

if TYPE_CHECKING:
    from scrapy.http import Response


def response_lifetime(response: Response) -> float | None:
    """Return for how many seconds a response is fresh from its arrival on; None if it does not say."""
    headers = response.headers
    cache_control = headers.getlist(b"Cache-Control")
    expires = headers.get(b"Expires")
    if not cache_control and expires is None:
        return None
    return fresh_seconds(
        [line.decode("latin-1") for line in cache_control],
        *(_text(field) for field in (expires, headers.get(b"Date"), headers.get(b"Age"))),
    )


def _text(field: bytes | None) -> str | None:
    return None if field is None else field.decode("latin-1")
