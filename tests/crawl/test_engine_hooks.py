"""The canary for private names of Scrapy.

When a new Scrapy fails here, look into ``webcrawl/scrapy_private.py``; its ``problems`` says what broke.
"""

from __future__ import annotations

import asyncio
import inspect
import io
from collections import deque
from datetime import datetime

import pytest
from scrapy import Request, Spider
from scrapy.commands import BaseRunSpiderCommand, view
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Scraper
from scrapy.core.scraper import Slot as ScraperSlot
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.downloadermiddlewares import cookies
from scrapy.exporters import CsvItemExporter
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager
from scrapy.utils.test import get_crawler

from tests.crawl import expectation
from webcrawl import scrapy_private
from webcrawl.urls.politeness_key import suffix_extractor

HOST_PAGES = 7
DELAY = 0.2
HEARTBEAT = 5.0


class NextCall:
    """Counts the calls that are asked for."""

    def __init__(self):
        self.scheduled = 0

    def schedule(self, delay=0):
        self.scheduled += 1

    def cancel(self):
        pass


OVERRIDDEN = (
    scrapy_private.PrivateName(
        BaseRunSpiderCommand, "_warn_if_feeds_unused", ("sender",), "the warning of feeds (commands/crawl.py)"
    ),
    scrapy_private.PrivateName(
        view.Command, "_print_response", ("response", "opts"), "scrapy view (commands/view.py)"
    ),
    scrapy_private.PrivateName(CsvItemExporter, "_build_row", ("values",), "CSV cells (feed_exporters.py)"),
)
"""Private names that classes of ours override or call, where they derive from a class of Scrapy."""


def test_every_private_name_that_is_used_is_there():
    assert list(scrapy_private.problems(scrapy_private.PRIVATE + OVERRIDDEN)) == []


def test_attributes_of_instances_that_are_used_are_there():
    exporter = vars(CsvItemExporter(io.BytesIO()))
    assert {"_headers_not_written", "_autodetected_fields"} <= exporter.keys()
    assert "_start" in vars(get_crawler()._create_engine())


def test_what_a_new_scrapy_breaks_is_said_in_words(monkeypatch):
    monkeypatch.delattr(Scraper, "_scrape")
    monkeypatch.setattr(Spider, "_parse", lambda self, answer, more: None)
    gone, other = scrapy_private.problems()
    assert gone == "Scrapy's Scraper has no _scrape any more: results that are no plain page need another way"
    assert other == (
        "Scrapy's Spider._parse takes ('answer', 'more') instead of ('response',): "
        "requests without a callback depend on it"
    )


def test_a_slot_lets_go_of_a_request_by_a_method_that_can_be_replaced():
    async def replaced():
        slot = _Slot(close_if_idle=True, nextcall=NextCall(), scheduler=None)
        request = Request("http://a.test/")
        slot.add_request(request)
        heard = []
        let_go = slot.remove_request
        slot.remove_request = lambda request: (let_go(request), heard.append(request))
        slot.remove_request(request)
        return heard == [request] and slot.inprogress == set()

    assert asyncio.run(replaced())


def test_the_engine_calls_it_through_the_slot_for_every_request():
    assert "self._slot.remove_request(request)" in inspect.getsource(ExecutionEngine._remove_request)
    assert "self._slot.remove_request(request)" in inspect.getsource(ExecutionEngine.download_async)
    assert "partial(self._remove_request, request=request)" in inspect.getsource(
        ExecutionEngine._start_scheduled_request
    )


def test_the_slots_next_call_asks_the_scheduler_again():
    source = inspect.getsource(ExecutionEngine.open_spider_async)

    assert "nextcall = CallLaterOnce(self._start_scheduled_requests)" in source
    assert "_Slot(close_if_idle, nextcall, scheduler)" in source


def test_the_engine_starts_a_request_in_a_method_that_can_be_replaced():
    source = inspect.getsource(ExecutionEngine._start_scheduled_requests)

    assert "if not self._start_scheduled_request():" in source
    assert "request = self._slot.scheduler.next_request()" in inspect.getsource(
        ExecutionEngine._start_scheduled_request
    )


def test_the_scraper_keeps_its_books_where_the_engine_of_this_project_keeps_them_for_it():
    slot = ScraperSlot()
    request = Request("http://a.test/")
    slot.active.add(request)
    slot.active_size += max(5000, slot.MIN_RESPONSE_SIZE)
    slot.finish_response(Response("http://a.test/", body=b"x" * 5000), request)

    assert slot.is_idle()
    assert slot.active_size == 0
    assert "slot.closing.callback" in inspect.getsource(Scraper._check_if_closing)


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=1, pages=HOST_PAGES)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    return crawl(web.seeds, POLITENESS_MIN_DELAY=DELAY).assert_ended_well()


def test_a_key_that_becomes_ready_is_fetched_at_once_and_not_at_the_heartbeat(web, crawled):
    hits = web.hits()
    took = hits[-1].end_mono - hits[0].start_mono

    assert len(expectation.asked(web)) == HOST_PAGES
    assert HOST_PAGES * DELAY <= took < HOST_PAGES * DELAY + HEARTBEAT / 2


def until_closing(crawled):
    """Seconds from the end of the last request to the end of the crawl, whose time is logged in whole seconds."""
    (line,) = [line for line in crawled.stderr.splitlines() if "Closing spider" in line]
    return datetime.fromisoformat(line[:19]).timestamp() - max(one["end"] for one in crawled.log())


def test_the_end_of_the_crawl_does_not_wait_for_the_heartbeat(serve, crawl):
    """Of ten crawls the last commit ends before and after the engine's last look."""
    web = serve(hosts=2, pages=4)
    waited = [until_closing(crawl(web.seeds).assert_ended_well()) for _ in range(3)]

    assert sorted(waited)[1] < HEARTBEAT - 1


def test_downloader_middlewares_are_kept_by_what_they_do():
    chain = DownloaderMiddlewareManager(crawler=get_crawler())

    assert chain.methods["process_request"] == deque()
    assert chain._mw_methods_requiring_spider == set()


def test_spider_middlewares_are_kept_by_what_they_do():
    chain = SpiderMiddlewareManager(crawler=get_crawler())

    assert chain.methods["process_spider_output"] == chain.methods["process_spider_exception"] == deque()
    assert chain._mw_methods_requiring_spider == set()
    assert "return await scrape_func(response, request)" in inspect.getsource(chain._process_spider_input)


def test_pipelines_keep_their_methods_by_name_and_signals_their_sender():
    assert ItemPipelineManager(crawler=get_crawler()).methods["process_item"] == deque()
    assert SignalManager("somebody").sender == "somebody"
    assert "signal=signals.item_scraped" in inspect.getsource(Scraper.start_itemproc_async)


def test_cookies_split_domains_with_the_list_that_is_given(monkeypatch):
    monkeypatch.setattr(cookies, "_split_domain", cookies._split_domain)
    asked = []

    def split(domain):
        asked.append(domain)
        return suffix_extractor()(domain)

    scrapy_private.split_domains_of_cookies(split)
    assert cookies._is_public_domain("co.uk")
    assert not cookies._is_public_domain("example.co.uk")
    assert asked == ["co.uk", "example.co.uk"]
