"""Scrapy's chains of downloader and spider middlewares, awaited only if there is something to wait for.

Downloader middlewares: Scrapy makes an awaitable of every answer, checks whether it is one, and composes the method's
name for a warning that is rarely emitted. Nearly all of a page's dozen and more answers are available at once: None,
or the response. The order, the allowed answers and the handling of errors are Scrapy's, and so is the table of
methods; exceptions take Scrapy's own path. If no method takes the spider as an argument, as is usual, they are called
without a check of each.

Spider middlewares: Scrapy passes the output of a callback, and of each middleware, through four generators, so that a
middleware may recover from an exception of another one. If none handles exceptions, they propagate directly, and a
chain consists of the middlewares' own generators alone. Their order and arguments are Scrapy's.

``tests/crawl/test_engine_hooks.py`` is the canary for what is used of Scrapy beyond its documented interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy.http import Request, Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from webcrawl import scrapy_private
from webcrawl.fetching.meta import fetch_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
    from scrapy.core.spidermw import SpiderMiddlewareManager


if TYPE_CHECKING:
    Download = Callable[[Request], Coroutine[Any, Any, Response]]


async def carry(
    chain: DownloaderMiddlewareManager, download: Download, request: Request
) -> Response | Request:
    """Do the work of ``chain.download_async``: to the network and back, unless a middleware answers instead."""
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
    """Return the answer of a middleware in place of the network's; None if there is none."""
    with_spider = scrapy_private.takes_spider(chain)
    for method in chain.methods["process_request"]:
        assert method is not None
        result = (
            scrapy_private.call_with_spider(chain, method, request=request)
            if with_spider
            else method(request=request)
        )
        if result is None:
            continue
        result = await ensure_awaitable(result, _warn=global_object_name(method))
        if isinstance(result, Request):
            fetch_meta(request).taken_by = owner_path(method)
        if isinstance(result, (Response, Request)):
            return result
        if result is not None:
            answer = type(result).__name__
            raise scrapy_private.invalid_output(
                f"Middleware {method.__qualname__} must return None, Response or Request, got {answer}"
            )
    return None


async def _taken_back(
    chain: DownloaderMiddlewareManager, request: Request, response: Response
) -> Response | Request:
    """Pass a response back to the engine; return a Request if a middleware returns one."""
    with_spider = scrapy_private.takes_spider(chain)
    for method in chain.methods["process_response"]:
        assert method is not None
        if with_spider:
            result = scrapy_private.call_with_spider(chain, method, request=request, response=response)
        else:
            result = method(request=request, response=response)
        if not isinstance(result, Response):
            result = await ensure_awaitable(result, _warn=global_object_name(method))
            if isinstance(result, Request):
                fetch_meta(request).taken_by = owner_path(method)
                return result
            if not isinstance(result, Response):
                raise scrapy_private.invalid_output(
                    f"Middleware {method.__qualname__} must return Response or Request, got {type(result)}"
                )
        response = result
    return response


def owner_path(method: Callable[..., object]) -> str:
    """Return the import path of the class of a middleware by one of its methods."""
    return global_object_name(type(getattr(method, "__self__", method)))


def find_raiser(chain: DownloaderMiddlewareManager, error: BaseException) -> str | None:
    """Return the downloader middleware whose ``process_request`` raised an exception; None if none did."""
    methods: dict[object, Any] = {
        getattr(getattr(method, "__func__", method), "__code__", None): method
        for method in chain.methods["process_request"]
    }
    trace = error.__traceback__
    while trace is not None:
        if (method := methods.get(trace.tb_frame.f_code)) is not None:
            return owner_path(method)
        trace = trace.tb_next
    return None


if TYPE_CHECKING:
    Call = Callable[[Any, Request], Coroutine[Any, Any, Any]]


def is_plain(chain: SpiderMiddlewareManager) -> bool:
    """Return True if none of the middlewares handles exceptions or takes the spider with each call."""
    return not (any(chain.methods["process_spider_exception"]) or scrapy_private.takes_spider(chain))


async def stream_output(
    chain: SpiderMiddlewareManager, call: Call, response: Response, request: Request
) -> AsyncIterator[Any]:
    """Do the work of ``chain.scrape_response_async`` for a plain chain: yield the spider's output as the middlewares
    pass it on.

    An exception ends it.
    """
    result = await scrapy_private.process_spider_input(chain, call, response, request)
    output: AsyncIterator[Any] = result if isinstance(result, AsyncIterator) else as_async_generator(result)
    for method in chain.methods["process_spider_output"]:
        if method is not None:
            output = method(response=response, result=output)
    return output
