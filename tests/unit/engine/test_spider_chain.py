"""A plain chain gives what Scrapy's own way through the same middlewares gives, and calls them in its order."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from tests.rows import each_row
from webcrawl.engine.chains import is_plain, stream_output

REQUEST = Request("http://a.test/")
RESPONSE = Response("http://a.test/", request=REQUEST)


def middleware(number: int, draw: random.Random, calls: list[Any]) -> object:
    """It may refuse a response, and drops, changes or adds something, or breaks, on the way out."""
    breaks_in = draw.random() < 0.1
    does = draw.choice(["pass", "drop", "add", "break at once", "break behind", "nothing"])

    class Made:
        if draw.random() < 0.5:

            def process_spider_input(self, response: Response) -> None:
                calls.append((number, "input"))
                if breaks_in:
                    raise ValueError(number)

        if does != "nothing":

            async def process_spider_output(self, response: Response, result: Any) -> Any:
                calls.append((number, "output"))
                if does == "break at once":
                    raise KeyError(number)
                async for output in result:
                    calls.append((number, output))
                    if does != "drop" or output % 2:
                        yield output
                    if does == "break behind":
                        raise KeyError(number)
                if does == "add":
                    yield 100 + number

    return Made()


def callback(draw: random.Random) -> Any:
    """A spider's answer to a response: a list, a generator, one that breaks, or the exception that it raises."""
    kind = draw.choice(["list", "generator", "breaks", "raises"])

    async def generated() -> Any:
        for output in range(4):
            if kind == "breaks" and output == 2:
                raise RuntimeError("in the midst")
            yield output

    async def call(result: Any, request: Request) -> Any:
        if not isinstance(result, Response):
            # As a request without an errback.
            raise result.value
        if kind == "raises":
            raise RuntimeError("at once")
        return [1, 2, 3] if kind == "list" else generated()

    return call


def both_ways(seed: int) -> list[Any]:
    """What came out, and who was called, our way and Scrapy's."""
    told = []
    for ours in (True, False):
        draw, calls = random.Random(seed), []
        crawler = get_crawler(Spider)
        crawler.spider = crawler._create_spider("a")
        made = [middleware(number, draw, calls) for number in range(draw.randrange(4))]
        chain = SpiderMiddlewareManager(*made, crawler=crawler)
        assert is_plain(chain)
        call = callback(draw)

        async def run(ours=ours, chain=chain, call=call) -> list[Any]:
            came: list[Any] = []
            try:
                output = await (
                    stream_output(chain, call, RESPONSE, REQUEST)
                    if ours
                    else chain.scrape_response_async(call, RESPONSE, REQUEST)
                )
                async for given in output:
                    came.append(given)  # noqa: PERF401 - what came before an exception counts
            except Exception as error:
                came.append(repr(error))
            return came

        told.append((asyncio.run(run()), calls))
    return told


@pytest.mark.slow
@each_row("part", range(4))
def test_both_ways_give_the_same(part: int) -> None:
    for seed in range(part * 20, part * 20 + 20):
        ours, theirs = both_ways(seed)
        assert ours == theirs, f"seed {seed}"


def test_a_chain_with_someone_who_handles_exceptions_is_not_plain() -> None:
    class Handles:
        def process_spider_exception(self, response: Response, exception: Exception) -> None:
            """Nothing."""

    crawler = get_crawler(Spider)
    crawler.spider = crawler._create_spider("a")
    assert is_plain(SpiderMiddlewareManager(crawler=crawler))
    assert not is_plain(SpiderMiddlewareManager(Handles(), crawler=crawler))
