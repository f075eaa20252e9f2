"""A running crawl, as its middlewares, extensions and features see it, and its URLs that are in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.frontier.lease import Lease, Outcome, Result

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Coroutine

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from webcrawl.crawl.request_codec import RequestSerializer
    from webcrawl.frontier.lease import FetchEnd
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.frontier.robots_requests import RobotsReply
    from webcrawl.frontier.tally import Tally

GIVEN_AT_ONCE = 5000
"""Requests of one callback that are held back to be committed together with its page."""


class RunningCrawl(Protocol):
    """The services of the scheduler for the other parts of a crawl. The frontier is a part of ``CrawlContext``."""

    crawler: Crawler
    spider: Spider
    requests: RequestSerializer
    close_reason: str
    """Scrapy's close reason, while the crawl is being closed."""

    @property
    def gives_early(self) -> bool:
        """True if URLs of one response may be queued before its own URL is done, if there are very many."""
        ...

    def in_flight_request(self, request: Request) -> InFlightRequest | None:
        """Return the in-flight request of a Request; None for requests that the frontier does not know."""
        ...

    def ended(self, flight: InFlightRequest, ending: FetchEnd) -> None:
        """Note that the response has ended or failed: the key's clock restarts. Later calls change nothing."""
        ...

    def answered_robots(self, flight: InFlightRequest, reply: RobotsReply) -> None:
        """Note the answer to a request for robots.txt."""
        ...

    def run_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work of a feature as a task beside the crawl. An exception in it ends the crawl."""
        ...

    async def add_seeds(self, entries: list[UrlEntry]) -> bool:
        """Queue many URLs at once and wait until they are durable. Returns False if they cannot become durable."""
        ...

    def before_close(self, step: Callable[[], Awaitable[None]]) -> None:
        """Have ``step`` called when the crawl is closed, while URLs can still be queued."""
        ...

    def keep_queued(self) -> None:
        """Let the URLs of all pages that are being processed stay queued: what they wait for does not come."""
        ...

    def wake(self) -> None:
        """Let the engine ask again in the next turn of the loop."""
        ...

    def stop(self) -> None:
        """End the crawl as an operator asks: open requests are finished."""
        ...


@dataclass(frozen=True, slots=True)
class Came:
    """Response of a page: its content, or the confirmation that it is unchanged. Header fields are as
    they were sent."""

    digest: bytes | None
    """Digest of the content; None for 304."""
    etag: str | None
    last_modified: str | None
    date: str | None
    fresh_seconds: float | None = None
    """The time for which the response is fresh by its Cache-Control or Expires; None if it does not say."""


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A leased URL on its way through Scrapy: its request, and the results so far."""

    lease: Lease
    request: Request
    scheduler: RunningCrawl
    tally: Tally
    """The crawl's figures."""
    outcome: Outcome = field(default_factory=lambda: Outcome(Result.ABANDONED))
    over: bool = False
    """True if the network part has ended and the key's clock runs again."""
    is_unkept: bool = False
    """True if a storage failed on its way: its results do not count, and its URL stays queued."""
    errbacks: int = 0
    """Number of its Requests that were refused and whose errbacks are still running: it is settled after them."""
    is_released: bool = False
    """True if the engine has released it."""
    came: Came | None = None
    """The response of a page, if the crawl revisits pages."""


def get_in_flight_request(crawler: Crawler, request: Request | None) -> InFlightRequest | None:
    """Return the in-flight request of a Request; None for requests that the frontier does not know."""
    if request is None:
        return None
    # An isinstance check is no help: with Scrapy's own type every scheduler is an instance of every other, and it is
    # slow.
    find: Callable[[Request], InFlightRequest | None] | None = getattr(
        crawler.engine.scheduler, "in_flight_request", None
    )
    return None if find is None else find(request)


def has_frontier(crawler: Crawler) -> bool:
    """Return True if the scheduler is this project's, and not Scrapy's own, as in ``scrapy shell``."""
    return hasattr(crawler.engine.scheduler, "in_flight_request")
