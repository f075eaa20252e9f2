"""Retries, which go back to the end of their queue and wait for their key's clock like all other requests."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.python import global_object_name
from scrapy.utils.response import response_status_message

from webcrawl.config.readers import as_switch
from webcrawl.config.scrapy_settings import retried_exceptions, retried_statuses
from webcrawl.crawl.context import get_context
from webcrawl.crawl.request_codec import is_explicit
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.fetching.failures import failure_word
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.active_key import ROBOTS_UNREACHABLE
from webcrawl.frontier.lease import Result
from webcrawl.frontier.policies import RETRIED_STATUSES
from webcrawl.frontier.records import Kind
from webcrawl.politeness.health import HOST_FAILURES

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


logger = logging.getLogger(__name__)


class RetryMiddleware:
    """Sends back requests that may succeed later, ``RETRY_TIMES`` at most; ``meta["dont_retry"]`` and
    ``meta["max_retry_times"]`` work as in Scrapy, and so do ``RETRY_HTTP_CODES`` and ``RETRY_EXCEPTIONS`` if they are
    given.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._is_on = as_switch(crawler.settings["RETRY_ENABLED"])
        self._times = get_context(crawler).configuration.retry_times
        statuses = retried_statuses(crawler.settings)
        self._statuses = RETRIED_STATUSES if statuses is None else statuses
        self._exceptions = retried_exceptions(crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RetryMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if response.status not in self._statuses:
            return response
        refusal = fetch_meta(request).refusal
        if refusal is not None and refusal.is_final:
            return response
        again = self._again(request, response_status_message(response.status))
        return response if again is None else again

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        flight = get_in_flight_request(self._crawler, request)
        if flight is not None and flight.lease.refusal == ROBOTS_UNREACHABLE:
            logger.error(
                "Gave up %(request)s: the robots.txt of its host could not be fetched",
                {"request": request},
                extra={"spider": self._crawler.spider},
            )
        if not self._may_succeed(request, exception):
            return None
        return self._again(request, global_object_name(type(exception)))

    def _may_succeed(self, request: Request, exception: Exception) -> bool:
        if self._exceptions is not None:
            return isinstance(exception, self._exceptions)
        word = failure_word(exception)
        # An error in a middleware's code is there the next time, too.
        return word in HOST_FAILURES and (word != "other" or fetch_meta(request).contacted)

    def _again(self, request: Request, reason: str) -> Request | None:
        """Have a request sent again; return None if that is not to be done. ``reason`` is for the statistics."""
        flight = get_in_flight_request(self._crawler, request)
        if not self._is_on or flight is None or flight.lease.refusal is not None:
            return None
        if flight.lease.entry.kind == Kind.ROBOTS or request.meta.get("dont_retry"):
            return None
        most = min(int(request.meta.get("max_retry_times", self._times)), self._times)
        count = self._crawler.stats.inc_value
        if flight.lease.entry.attempts >= most:
            count("retry/max_reached")
            if is_explicit(flight.lease.entry.payload):
                logger.error(
                    "Gave up retrying %(request)s (failed %(times)d times): %(reason)s",
                    {"request": request, "times": flight.lease.entry.attempts + 1, "reason": reason},
                    extra={"spider": self._crawler.spider},
                )
            return None
        logger.debug(
            "Retrying %(request)s (failed %(times)d times): %(reason)s",
            {"request": request, "times": flight.lease.entry.attempts + 1, "reason": reason},
            extra={"spider": self._crawler.spider},
        )
        count("retry/count")
        count(f"retry/reason_count/{reason}")
        flight.outcome.result = Result.RETRY
        return request
