"""The chain gives what Scrapy's own way through the same middlewares gives, and calls them in the same order."""

from __future__ import annotations

import asyncio
import random
import warnings
from typing import Any

from scrapy import Request
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from tests.rows import each_row
from webcrawl.engine import chains

REQUEST = Request("http://a.test/")
OTHER = Request("http://b.test/")
PAGE = HtmlResponse("http://a.test/", body=b"page")
OWN = Response("http://a.test/", body=b"own")
ANSWERS = {
    "process_request": (None, None, None, PAGE, OTHER, "nonsense", ValueError("broken"), IgnoreRequest("no")),
    "process_response": (PAGE, PAGE, PAGE, OWN, OTHER, None, "nonsense", ValueError("broken")),
    "process_exception": (None, None, None, OWN, OTHER, "nonsense", KeyError("worse")),
}
NETWORK = (PAGE, OWN, None, TimeoutError("slow"))


def answering(name: str, answer: object, waits: bool, calls: list[Any]) -> Any:
    """A middleware's method; its answer, where it is an exception, is raised."""

    def method(**facts: Any) -> Any:
        calls.append((name, sorted(facts), facts.get("response"), repr(facts.get("exception"))))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def later(**facts: Any) -> Any:
        await asyncio.sleep(0)
        return method(**facts)

    return later if waits else method


def middleware(number: int, draw: random.Random, calls: list[Any]) -> object:
    class Made:
        pass

    made = Made()
    for name, answers in ANSWERS.items():
        if draw.random() < 0.7:
            answer = draw.choice(answers)
            setattr(made, name, answering(f"{number} {name}", answer, draw.random() < 0.3, calls))
    return made


def both_ways(*makers: Any, network: object = PAGE) -> tuple[Any, Any]:
    """What came of a request and who was called, our way and Scrapy's, through what ``makers`` make."""
    seen = []
    for ours in (True, False):
        calls: list[Any] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chain = DownloaderMiddlewareManager(*[maker(calls) for maker in makers], crawler=get_crawler())

        async def download(request: Request) -> Any:
            calls.append("network")  # noqa: B023 - called before the loop goes on
            if isinstance(network, Exception):
                raise network
            return network

        assert chain.crawler is not None
        chain.crawler.spider = chain.crawler._create_spider("some")
        try:
            way = chains.carry(chain, download, REQUEST) if ours else chain.download_async(download, REQUEST)
            result: Any = asyncio.run(way)
        except Exception as error:
            result = repr(error)
        seen.append((result, calls))
    return seen[0], seen[1]


@each_row("seed", range(80))
def test_any_chain_gives_what_scrapys_way_gives(seed: int) -> None:
    size, network = seed % 4, random.Random(seed).choice(NETWORK)
    makers = [
        lambda calls, number=number: middleware(number, random.Random(1000 * seed + number), calls)
        for number in range(size)
    ]
    ours, scrapys = both_ways(*makers, network=network)
    assert ours == scrapys


class AsksForSpider:
    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls

    def process_request(self, request: Request, spider: object) -> None:
        self.calls.append((request, getattr(spider, "name", None)))

    def process_response(self, request: Request, response: Response, spider: object) -> Response:
        self.calls.append((response, getattr(spider, "name", None)))
        return response


def test_a_middleware_that_asks_for_the_spider_gets_it() -> None:
    ours, scrapys = both_ways(AsksForSpider)
    assert ours == scrapys == (PAGE, [(REQUEST, "some"), "network", (PAGE, "some")])
