"""Takes the content coding off (gzip, deflate, br, zstd), up to the limit of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.responsetypes import responsetypes

from webcrawl.core import header_fields
from webcrawl.documents.decoding import decode
from webcrawl.machine import machine_of
from webcrawl.meta import fetch_meta

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class DecodingMiddleware:
    """The archive keeps the payload as it was received; from here on the body is what the page's author
    wrote.

    A damaged stream gives what could be read of it, a bomb what fits into the limit; both are flagged.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._limit = machine_of(crawler).configuration.download_maxsize

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DecodingMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        coding = header_fields.last(response.headers, b"Content-Encoding")
        if not coding or not response.body:
            return response
        facts = fetch_meta(request)
        decoded = decode(response.body, coding.decode("latin-1"), facts.maxsize or self._limit)
        facts.decode_error = decoded.error
        del response.headers["Content-Encoding"]
        response_class = responsetypes.from_args(
            headers=response.headers, url=response.url, body=decoded.body
        )
        flags = [*response.flags, *(["truncated"] if decoded.truncated else [])]
        return response.replace(body=decoded.body, cls=response_class, flags=flags)
