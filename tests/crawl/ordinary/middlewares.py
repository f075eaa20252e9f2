"""Middlewares of others, the well-behaved and those that come between the crawl and its answers."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse

from webcrawl.archive.listed_links import ListedLinks
from webcrawl.errors import StorageFull

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Request, Response

WAYS = (
    "answers",
    "ignores request",
    "replaces request",
    "breaks request",
    "ignores response",
    "gives request for response",
    "replaces response",
    "breaks response",
    "gives request for exception",
)


class Marking:
    """As in the README of nearly every package: adds a header."""

    def process_request(self, request: Request) -> None:
        request.headers["X-Marked"] = "yes"


class Meddling:
    """Does to the requests of each host something else, robots.txt included: see ``WAYS``."""

    def way(self, request: Request) -> str:
        number = int((urlsplit(request.url).hostname or "h0").partition(".")[0][1:])
        return WAYS[number % len(WAYS)]

    def process_request(self, request: Request) -> Request | Response | None:
        match self.way(request):
            case "answers":
                return HtmlResponse(request.url, body=b"made up", request=request)
            case "ignores request":
                raise IgnoreRequest("not this one")
            case "replaces request":
                return request.replace(dont_filter=True)
            case "breaks request":
                raise RuntimeError("broken on the way out")
        return None

    def process_response(self, request: Request, response: Response) -> Request | Response:
        match self.way(request):
            case "ignores response":
                raise IgnoreRequest("not this one")
            case "gives request for response":
                return request
            case "replaces response":
                return request.replace(dont_filter=True)
            case "breaks response":
                raise RuntimeError("broken on the way back")
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        return request if self.way(request) == "gives request for exception" else None


class MeddlingWithPages(Meddling):
    """The same with pages only."""

    def way(self, request: Request) -> str:
        return "" if request.url.endswith("/robots.txt") else super().way(request)


class Eating:
    """A spider middleware that lets nothing through."""

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for _ in result:
            for nothing in ():
                yield nothing


class WithoutRoomAtFirst:
    """Finds no room for what it keeps of a sitemap, until the sitemap comes again."""

    def __init__(self) -> None:
        self._came: set[str] = set()

    def process_response(self, request: Request, response: Response) -> Response:
        if "form=long" in request.url and request.url not in self._came:
            self._came.add(request.url)
            raise StorageFull("no room")
        return response


class WithoutRoomForLinksAtFirst:
    """The disk is full when the first long list of URLs has been read."""

    def __init__(self) -> None:
        finish = ListedLinks.finish
        self._was_full = False

        def full_at_first(listed: ListedLinks) -> None:
            finish(listed)
            if not self._was_full:
                self._was_full = True
                raise OSError(errno.ENOSPC, "No space left on device")

        ListedLinks.finish = full_at_first  # type: ignore[method-assign]


class RandomUserAgentMiddleware:
    """As packages of this kind are written: a name for requests that have none."""

    def process_request(self, request: Request) -> None:
        request.headers.setdefault("User-Agent", "Mozilla/5.0 (random)")


class Disguising:
    """Gives each request another name."""

    def process_request(self, request: Request) -> None:
        request.headers["User-Agent"] = "Mozilla/5.0 (disguised)"


class Moving:
    """Changes the URLs of pages in place, next to the network."""

    def process_request(self, request: Request) -> None:
        if "/x/echo" in request.url:
            request._set_url(request.url.replace("/x/echo", "/x/elsewhere"))
