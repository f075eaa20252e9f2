"""Downloader middleware that removes the content coding (gzip, deflate, br, zstd), up to the limit of a body."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.responsetypes import responsetypes

from webcrawl.crawl.context import get_context
from webcrawl.fetching.decoding import decode, expected_bytes
from webcrawl.fetching.meta import fetch_meta
from webcrawl.parsing.mime import HTML_TYPES, mime_type

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.fetching.body_memory import BodyAccount
    from webcrawl.fetching.decoding import Decoded
    from webcrawl.fetching.meta import FetchMeta


AT_ONCE_BYTES = 1024 * 1024
"""The number of bytes that are decoded on the event loop, in 10 ms at most; larger output is decoded on a thread."""


class DecodingMiddleware:
    """Decodes the body for the components after it; the archive keeps the payload as it was received.

    A damaged stream yields the part that could be decoded, a decompression bomb the part within the limit; both are
    flagged.
    """

    def __init__(self, crawler: Crawler) -> None:
        configuration = get_context(crawler).configuration
        self._limit = configuration.download_maxsize
        self._text_limit = max(self._limit, configuration.download_text_maxsize)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DecodingMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[Any, Any, Response]:
        named = response.headers.get(b"Content-Encoding")
        if not named or not response.body:
            return response
        facts, coding = fetch_meta(request), named.decode("latin-1")
        limit, account = facts.maxsize or self._size_limit(response), facts.account
        if account is None:
            return _decoded(response, decode(response.body, coding, limit), facts)
        most = min(limit, account.room, AT_ONCE_BYTES)
        if most < min(limit, expected_bytes(response.body, coding)):
            # It would be decoded here in vain.
            return self._decode_large(response, coding, limit, facts, account)
        decoded = decode(response.body, coding, most)
        if decoded.truncated and most < limit:
            # The decoded size is known only afterwards, and few bodies decode to more than their share of the memory.
            return self._decode_large(response, coding, limit, facts, account)
        account.resize(account.size + len(decoded.body))
        account.trim()
        return _decoded(response, decoded, facts)

    async def _decode_large(
        self, response: Response, coding: str, limit: int, facts: FetchMeta, account: BodyAccount
    ) -> Response:
        await account.until_granted(account.size + limit)
        # Decoding megabytes would block the event loop.
        decoded = await asyncio.to_thread(decode, response.body, coding, limit)
        account.resize(account.size + len(decoded.body))
        account.trim()
        return _decoded(response, decoded, facts)

    def _size_limit(self, response: Response) -> int:
        declared = response.headers.get(b"Content-Type")
        mime = mime_type(declared.decode("latin-1")) if declared else None
        return self._text_limit if mime is None or mime in HTML_TYPES else self._limit


def _decoded(response: Response, decoded: Decoded, facts: FetchMeta) -> Response:
    facts.decode_error = decoded.error
    del response.headers["Content-Encoding"]
    response_class = responsetypes.from_args(headers=response.headers, url=response.url, body=decoded.body)
    flags = [*response.flags, *(["truncated"] if decoded.truncated else [])]
    return response.replace(body=decoded.body, cls=response_class, flags=flags)
