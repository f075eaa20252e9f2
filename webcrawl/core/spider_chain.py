"""Scrapy's chain of spider middlewares without what only those need who handle exceptions.

Scrapy passes the output of a callback, and of each middleware, through four generators, so that a middleware may
recover from what another one raised. Where none wants to hear of exceptions they end where they are raised, and the
middlewares' own generators are all there is to a chain. Their order and what they are given are Scrapy's.

``tests/crawl/test_engine_hooks.py`` is the canary for what is used of it beyond its documented interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncgen import as_async_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.core.spidermw import SpiderMiddlewareManager
    from scrapy.http import Response

    Call = Callable[[Any, Request], Coroutine[Any, Any, Any]]


def is_plain(chain: SpiderMiddlewareManager) -> bool:
    """Whether none of the middlewares handles exceptions, or is of those that are given the spider with each call."""
    return not (any(chain.methods["process_spider_exception"]) or chain._mw_methods_requiring_spider)


async def output_of(
    chain: SpiderMiddlewareManager, call: Call, response: Response, request: Request
) -> AsyncIterator[Any]:
    """``chain.scrape_response_async`` of a chain that is plain: what the spider gives, as the middlewares pass it on.

    It has ended when it has raised.
    """
    given = await chain._process_spider_input(call, response, request)
    output: AsyncIterator[Any] = given if isinstance(given, AsyncIterator) else as_async_generator(given)
    for method in chain.methods["process_spider_output"]:
        if method is not None:
            output = method(response=response, result=output)
    return output
