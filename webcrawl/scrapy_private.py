"""The private names of Scrapy's engine, scraper, middleware managers and TLS context that this project uses.

A new release of Scrapy may change any of them, and then this module alone has to follow. ``problems`` says in words
which names are gone or take other parameters, and what that breaks; ``tests/crawl/test_engine_hooks.py`` calls it.
``tests/test_architecture.py`` sees to it that no other module uses one of these names.
"""

from __future__ import annotations

import inspect
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Spider
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Scraper
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler, CrawlerProcessBase
from scrapy.downloadermiddlewares import cookies
from scrapy.exceptions import _InvalidOutput
from scrapy.middleware import MiddlewareManager
from scrapy.utils.defer import _process_pending_io
from scrapy.utils.ssl import _make_ssl_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure


Slot = _Slot
"""The engine's state of the open spider."""


class HookedEngine(ExecutionEngine):
    """Scrapy's engine with a name for the two steps by which requests begin."""

    def begin_requests(self) -> None:
        """Begin requests until there are none or no more may begin. Called when the engine is woken."""
        super()._start_scheduled_requests()

    def begin_request(self) -> bool:
        """Begin one request. Return False when there is none."""
        return super()._start_scheduled_request()

    def _start_scheduled_requests(self) -> None:
        self.begin_requests()

    def _start_scheduled_request(self) -> bool:
        return self.begin_request()


def use_engine(crawler: Crawler, engine: type[ExecutionEngine]) -> None:
    """Have a crawler create an engine of this class, unless its own class decides that itself.

    Scrapy has no setting for it. The crawlers of scripts and of Scrapy's own commands are of its own class.
    """
    if type(crawler)._create_engine is not Crawler._create_engine:
        return

    def create_engine() -> ExecutionEngine:
        return engine(crawler, lambda _: crawler.stop_async())

    crawler._create_engine = create_engine  # type: ignore[method-assign]


def split_domains_of_cookies(split: Callable[[str], Any]) -> None:
    """Have Scrapy's cookies middleware split domains with ``split``, a ``TLDExtract``.

    Its own one asks the network for a list of suffixes, on the event loop and with tracebacks where there is none.
    """
    cookies._split_domain = split  # type: ignore[assignment]


def engine_slot(engine: ExecutionEngine) -> _Slot | None:
    """Return the engine's state of the open spider: its scheduler, open requests and next call."""
    return engine._slot


def forget_spider(engine: ExecutionEngine) -> None:
    """Make the engine forget a spider that was never open; closing it would fail."""
    engine._slot = None
    engine.spider = None


class Shutdown(Enum):
    """The signal handlers of Scrapy's CrawlerProcess."""

    GRACEFUL = "_signal_shutdown"
    """The name of the handler of the first signal."""
    FORCED = "_signal_kill"
    """The name of the handler of the second signal."""


def find_shutdown(handler: object) -> Shutdown | None:
    """Return which handler of a CrawlerProcess it is; None if it is another one."""
    function = getattr(handler, "__func__", None)
    return next((kind for kind in Shutdown if function is getattr(CrawlerProcessBase, kind.value)), None)


async def scrape(scraper: Scraper, result: Response | Failure, request: Request) -> None:
    """Hand a result to the spider, and what that yields to the pipelines, in Scrapy's own way."""
    await scraper._scrape(result, request)


def end_if_idle(scraper: Scraper) -> None:
    """Notify those that wait for the scraper to become idle, if it is."""
    scraper._check_if_closing()


def default_callback(spider: Spider) -> Callable[..., Any]:
    """Return the callback of requests without one."""
    return spider._parse


def takes_spider(chain: MiddlewareManager) -> bool:
    """Return True when a method of the chain takes the deprecated argument ``spider``."""
    return bool(chain._mw_methods_requiring_spider)


def call_with_spider(chain: DownloaderMiddlewareManager, method: Callable[..., Any], **arguments: Any) -> Any:
    """Call a method of a middleware, with ``spider`` if it takes it."""
    return chain._handle_mw_method(method, **arguments)


async def process_exception(
    chain: DownloaderMiddlewareManager, error: Exception, request: Request
) -> Response | Request:
    """Offer an exception to the downloader middlewares. Raises it if none of them returns an answer."""
    return await chain._process_exception(error, request)


async def process_spider_input(
    chain: SpiderMiddlewareManager,
    call: Callable[[Any, Request], Coroutine[Any, Any, Any]],
    response: Response,
    request: Request,
) -> Any:
    """Pass a response to the spider middlewares, and call the spider with it."""
    return await chain._process_spider_input(call, response, request)


async def let_pending_io_run() -> None:
    """Give the event loop the turns that Scrapy gives it after a failure."""
    await _process_pending_io()


def invalid_output(message: str) -> Exception:
    """Return the exception for a middleware that returned something of a wrong type."""
    return _InvalidOutput(message)


def tls_context(settings: BaseSettings) -> ssl.SSLContext:
    """Return a TLS context by Scrapy's settings."""
    return _make_ssl_context(settings)


class PrivateName(NamedTuple):
    """A name that is used here, and what depends on it."""

    owner: object
    name: str
    parameters: tuple[str, ...] | None
    """The parameters of a function, without ``self``; None for other attributes."""
    use: str


PRIVATE = (
    PrivateName(
        ExecutionEngine, "_start_scheduled_requests", (), "beginning requests when the engine is woken"
    ),
    PrivateName(ExecutionEngine, "_start_scheduled_request", (), "beginning one request by the shortest way"),
    PrivateName(Crawler, "_create_engine", (), "the engine of scripts and of Scrapy's own commands"),
    PrivateName(
        CrawlerProcessBase, "_signal_shutdown", ("signum", "_"), "saying what a crawl that stops waits for"
    ),
    PrivateName(CrawlerProcessBase, "_signal_kill", ("signum", "_"), "the end after a second signal"),
    PrivateName(Scraper, "_scrape", ("result", "request"), "results that are no plain page"),
    PrivateName(Scraper, "_check_if_closing", (), "ending a crawl when the last response is read"),
    PrivateName(Spider, "_parse", ("response",), "requests without a callback"),
    PrivateName(
        DownloaderMiddlewareManager,
        "_process_exception",
        ("exception", "request"),
        "process_exception of middlewares",
    ),
    PrivateName(
        DownloaderMiddlewareManager, "_handle_mw_method", None, "middlewares with the argument spider"
    ),
    PrivateName(cookies, "_split_domain", None, "cookies without the network"),
    PrivateName(
        SpiderMiddlewareManager,
        "_process_spider_input",
        ("scrape_func", "response", "request"),
        "process_spider_input of middlewares",
    ),
)
"""The names that can be looked up in a class. Names that are imported fail at once, attributes of instances in the
tests that use them: ``ExecutionEngine._slot``, ``MiddlewareManager._mw_methods_requiring_spider``.
"""


def problems(names: Sequence[PrivateName] = PRIVATE) -> Iterator[str]:
    """Yield a line for each of ``names`` that this release of Scrapy does not have."""
    for private in names:
        owner = getattr(private.owner, "__name__", str(private.owner))
        method = getattr(private.owner, private.name, None)
        if method is None:
            yield f"Scrapy's {owner} has no {private.name} any more: {private.use} need another way"
        elif private.parameters is not None:
            parameters = tuple(
                name for name in inspect.signature(method).parameters if name not in ("self", "kwargs")
            )
            if parameters != private.parameters:
                yield (
                    f"Scrapy's {owner}.{private.name} takes {parameters} instead of {private.parameters}: "
                    f"{private.use} depend on it"
                )
