"""Scrapy's engine with a shorter path for a page: one task from the scheduler to the last item.

Scrapy runs a request through some four tasks and ten conversions between Deferred and Future, because each of its
parts may be replaced by one that supports only one of them. Here the downloader is known to be ``DirectDownloader``,
so the parts are awaited one after the other. The order of events, the signals, the middlewares and the handling of
errors are Scrapy's; results that are not plain pages still take Scrapy's own path.

``tests/crawl/test_engine_hooks.py`` is the canary for what is used of Scrapy beyond its documented interface.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from typing import TYPE_CHECKING, Any

from pydispatch.robustapply import robustApply
from scrapy import Request, signals
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from webcrawl import scrapy_private
from webcrawl.engine.chains import is_plain, stream_output
from webcrawl.engine.downloader import DirectDownloader
from webcrawl.engine.waking import Starts
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.meta import CURRENT
from webcrawl.fetching.signals import receivers, tell
from webcrawl.scrapy_private import HookedEngine, Slot, engine_slot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class DirectEngine(HookedEngine):
    """An engine whose requests are tasks of their own, kept in ``_carried`` while they run."""

    def __init__(self, crawler: Crawler, *args: Any, **kwargs: Any) -> None:
        if crawler.settings.getwithbase("ITEM_PIPELINES"):
            # It imports Scrapy's pipelines.
            from webcrawl.engine.file_stores import write_whole_files

            write_whole_files()
        super().__init__(crawler, *args, **kwargs)
        self._carried: set[asyncio.Task[None]] = set()
        self._bodies = get_body_memory(self.crawler)
        self._starts = Starts()
        self._closed = asyncio.Event()
        """An event that is not set while the spider is being closed."""
        self._closed.set()

    def needs_backout(self) -> bool:
        """Return True if no request may begin now: by the number of open ones, and by the memory of bodies.

        Scrapy's scraper has a limit of its own for responses that are being processed, 5 MB, which five pages reach.
        """
        slot = engine_slot(self)
        return (
            not self.running
            or slot is None
            or slot.closing is not None
            or self.downloader.needs_backout()
            or self._bodies.is_used_up()
        )

    @property
    def is_closing(self) -> bool:
        """True from the moment at which the crawl is asked to stop: no more requests begin."""
        slot = engine_slot(self)
        return slot is not None and slot.closing is not None

    def begin_requests(self) -> None:
        if self.scraper.slot is None:
            # The scheduler wakes the engine while it is being opened itself. An open spider is woken once more.
            return
        self._starts.new_turn()
        super().begin_requests()
        self._begin_inline()

    def _begin_inline(self) -> None:
        """Begin inline requests, however many pages are being processed, since these may wait for them; also while
        the crawl is being closed."""
        slot = engine_slot(self)
        next_inline = None if slot is None else getattr(slot.scheduler, "next_inline", None)
        if slot is None or next_inline is None or self.paused:
            return
        downloader = self.downloader
        assert isinstance(downloader, DirectDownloader)
        while (request := next_inline()) is not None:
            self._begin(request, slot, self._carry(request, downloader, slot))

    async def download_async(self, request: Request) -> Response:
        """Return the response to an inline request, when its host may be contacted."""
        if self.spider is None:
            raise RuntimeError(f"No open spider to crawl: {request}")
        fetch = getattr(self.scheduler, "fetch_inline", None)
        if fetch is None or not isinstance(self.downloader, DirectDownloader):
            return await super().download_async(request)
        response: Response = await fetch(request)
        return response

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """Close the spider. What its pages wait for goes on for a while."""
        if (stopping := getattr(self.scheduler, "stopping", None)) is not None:
            stopping()
        if self._closed.is_set():
            self._closed.clear()
            try:
                await super().close_spider_async(reason=reason)
            finally:
                self._closed.set()
        else:
            await super().close_spider_async(reason=reason)

    async def stop_async(self) -> None:
        """Stop the engine. Scrapy's own does not wait for a close that has begun: storing the state, and feeds."""
        if self.spider is not None:
            await self._closed.wait()
        await super().stop_async()

    def begin_request(self) -> bool:
        if not isinstance(self.downloader, DirectDownloader):
            return super().begin_request()
        slot = engine_slot(self)
        assert slot is not None
        if not self._starts.take():
            slot.nextcall.schedule()
            return False
        request = slot.scheduler.next_request()
        if request is None:
            tell(self.signals, signals.scheduler_empty)
            return False
        self._begin(request, slot, self._carry(request, self.downloader, slot))
        return True

    def _begin(self, request: Request, slot: Slot, work: Coroutine[Any, Any, None]) -> None:
        # At once: the engine considers a crawl without requests in its slot or the downloader idle.
        slot.add_request(request)
        self.downloader.active.add(request)
        task = asyncio.get_running_loop().create_task(work)
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)

    async def _carry(self, request: Request, downloader: DirectDownloader, slot: Slot) -> None:
        """Run one request from the download to its items."""
        CURRENT.set(weakref.ref(request))
        try:
            result = await self._fetched(request, downloader, slot)
            if self._deliver(request, result, slot):
                return
            if isinstance(result, Request):
                self.crawl(result)
            else:
                await self._scrape(result, request)
        except Exception:
            logger.exception("Could not process %s", request, extra={"spider": self.spider})
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()

    @staticmethod
    def _deliver(request: Request, result: Response | Request | Failure, slot: Slot) -> bool:
        """Give the result of an inline request to its caller; return False if it is none."""
        deliver = getattr(slot.scheduler, "deliver", None)
        if deliver is None:
            return False
        return bool(deliver(request, result.value if isinstance(result, Failure) else result))

    async def _fetched(
        self, request: Request, downloader: DirectDownloader, slot: Slot
    ) -> Response | Request | Failure:
        try:
            result = await downloader.fetch_active(request)
            if isinstance(result, Response):
                self._report_response(result, request)
            return result
        except Exception:
            return _failure()
        finally:
            slot.nextcall.schedule()

    def _report_response(self, response: Response, request: Request) -> None:
        if response.request is None:
            response.request = request
        assert self.spider is not None
        if words := self.logformatter.crawled(response.request, response, self.spider):
            logger.log(
                words["level"],
                words["msg"],
                *([words["args"]] if words.get("args") else []),
                extra={"spider": self.spider},
            )
        tell(
            self.signals,
            signals.response_received,
            response=response,
            request=response.request,
            spider=self.spider,
        )

    async def _scrape(self, result: Response | Failure, request: Request) -> None:
        """Pass the result to the spider, and update the scraper's state as the scraper does."""
        scraper = self.scraper
        books = scraper.slot
        assert books is not None
        books.active.add(request)
        size = len(result.body) if isinstance(result, Response) else 0
        books.active_size += max(size, books.MIN_RESPONSE_SIZE)
        try:
            if isinstance(result, Response) and scraper.concurrent_items == 1:
                await self._scrape_page(result, request)
            else:
                await scrapy_private.scrape(scraper, result, request)
        finally:
            books.finish_response(result, request)
            scrapy_private.end_if_idle(scraper)

    async def _scrape_page(self, response: Response, request: Request) -> None:
        """Call the spider with a response and process its output, one item after the other."""
        scraper, chain = self.scraper, self.scraper.spidermw
        plain = is_plain(chain)
        try:
            if plain:
                output = await stream_output(chain, self._call_spider, response, request)
            else:
                output = aiter(await chain.scrape_response_async(self._call_spider, response, request))
        except Exception:
            scraper.handle_spider_error(_failure(), request, response)
            return
        while True:
            try:
                result = await anext(output)
            except StopAsyncIteration:
                return
            except Exception:
                scraper.handle_spider_error(_failure(), request, response)
                if plain:
                    return
                # The rest of the output of the middleware chain follows.
                continue
            if isinstance(result, Request):
                self.crawl(result)
            elif result is not None:
                await self._take_item(result, response)

    async def _take_item(self, item: Any, response: Response) -> None:
        """Send an item through the pipelines; if there are none, send its signal at once."""
        scraper = self.scraper
        pipelines = scraper.itemproc
        if type(pipelines) is not ItemPipelineManager or pipelines.methods["process_item"]:
            await scraper.start_itemproc_async(item, response=response)
            return
        spider = self.spider
        assert spider is not None
        if words := self.logformatter.scraped(item, response, spider):
            logger.log(
                words["level"],
                words["msg"],
                *([words["args"]] if words.get("args") else []),
                extra={"spider": spider, "item": item},
            )
        named = {"signal": signals.item_scraped, "sender": self.signals.sender}
        for receiver in receivers(self.signals, signals.item_scraped):
            # One after the other: Scrapy creates a task for each, though nearly all of them have nothing to wait for.
            try:
                answer = robustApply(receiver, item=item, response=response, spider=spider, **named)
                if answer is not None:
                    await ensure_awaitable(answer)
            except Exception:
                logger.exception("Error caught on signal handler: %s", receiver, extra={"spider": spider})

    async def _call_spider(
        self, result: Response | Failure, request: Request
    ) -> Iterable[Any] | AsyncIterator[Any]:
        if not isinstance(result, Response):
            return await self.scraper.call_spider_async(result, request)
        spider = self.spider
        assert spider is not None
        asked = result.request or request
        callback = asked.callback or scrapy_private.default_callback(spider)
        output = callback(result, **asked.cb_kwargs)
        if inspect.isasyncgen(output):
            return output
        warn_on_generator_with_return_value(spider, callback)
        answer: Iterable[Any] | AsyncIterator[Any] = await ensure_awaitable(iterate_spider_output(output))
        return answer


def _failure() -> Failure:
    """Return the current exception in the form in which Scrapy passes it on."""
    return Failure()  # type: ignore[no-untyped-call]
