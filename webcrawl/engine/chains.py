"""Scrapy's chain of downloader middlewares, in which only what has to be waited for is awaited.

Scrapy makes an awaitable of every answer, looks whether it is one, and composes the method's name for a warning that
is hardly ever given. Of a page's dozen and more answers nearly all are there at once: None, or the response. The
order, what may be answered and what becomes of errors are Scrapy's, and so is the book of methods; exceptions go its
own way. Where no method asks for the spider, which is nearly always, they are called without a look at each.

``tests/crawl/test_engine_hooks.py`` is the canary for what is used of it beyond its documented interface.

Scrapy's chain of spider middlewares without what only those need who handle exceptions.

Scrapy passes the output of a callback, and of each middleware, through four generators, so that a middleware may
recover from what another one raised. Where none wants to hear of exceptions they end where they are raised, and the
middlewares' own generators are all there is to a chain. Their order and what they are given are Scrapy's.

``tests/crawl/test_engine_hooks.py`` is the canary for what is used of it beyond its documented interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy.http import Request, Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from webcrawl.engine import scrapy_private

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
    from scrapy.core.spidermw import SpiderMiddlewareManager


if TYPE_CHECKING:
    Download = Callable[[Request], Coroutine[Any, Any, Response]]


async def carry(
    chain: DownloaderMiddlewareManager, download: Download, request: Request
) -> Response | Request:
    """``chain.download_async``: to the network and back, unless a middleware answers for it."""
    try:
        result = await _answer(chain, request)
        if result is None:
            result = await download(request)
    except Exception as error:
        await scrapy_private.let_pending_io_run()
        result = await scrapy_private.process_exception(chain, error, request)
    if result is None:
        raise TypeError("Received None in process_response")
    return result if isinstance(result, Request) else await _taken_back(chain, request, result)


async def _answer(chain: DownloaderMiddlewareManager, request: Request) -> Response | Request | None:
    """What a middleware gives in place of the network's answer; None where none does."""
    with_spider = scrapy_private.takes_spider(chain)
    for method in chain.methods["process_request"]:
        assert method is not None
        given = (
            scrapy_private.call_with_spider(chain, method, request=request)
            if with_spider
            else method(request=request)
        )
        if given is None:
            continue
        given = await ensure_awaitable(given, _warn=global_object_name(method))
        if isinstance(given, (Response, Request)):
            return given
        if given is not None:
            answer = type(given).__name__
            raise scrapy_private.invalid_output(
                f"Middleware {method.__qualname__} must return None, Response or Request, got {answer}"
            )
    return None


async def _taken_back(
    chain: DownloaderMiddlewareManager, request: Request, response: Response
) -> Response | Request:
    """A response on its way back to the engine; a Request where a middleware makes one of it."""
    with_spider = scrapy_private.takes_spider(chain)
    for method in chain.methods["process_response"]:
        assert method is not None
        if with_spider:
            given = scrapy_private.call_with_spider(chain, method, request=request, response=response)
        else:
            given = method(request=request, response=response)
        if not isinstance(given, Response):
            given = await ensure_awaitable(given, _warn=global_object_name(method))
            if isinstance(given, Request):
                return given
            if not isinstance(given, Response):
                raise scrapy_private.invalid_output(
                    f"Middleware {method.__qualname__} must return Response or Request, got {type(given)}"
                )
        response = given
    return response


if TYPE_CHECKING:
    Call = Callable[[Any, Request], Coroutine[Any, Any, Any]]


def is_plain(chain: SpiderMiddlewareManager) -> bool:
    """Whether none of the middlewares handles exceptions, or is of those that are given the spider with each call."""
    return not (any(chain.methods["process_spider_exception"]) or scrapy_private.takes_spider(chain))


async def output_of(
    chain: SpiderMiddlewareManager, call: Call, response: Response, request: Request
) -> AsyncIterator[Any]:
    """``chain.scrape_response_async`` of a chain that is plain: what the spider gives, as the middlewares pass it on.

    It has ended when it has raised.
    """
    given = await scrapy_private.process_spider_input(chain, call, response, request)
    output: AsyncIterator[Any] = given if isinstance(given, AsyncIterator) else as_async_generator(given)
    for method in chain.methods["process_spider_output"]:
        if method is not None:
            output = method(response=response, result=output)
    return output
