"""One request on its way, whatever its scheme, and the base class of the download handlers that send it.

What every fetch owes the crawl is here, once: the lease and the exclusion list are checked just before something is
sent; time, sizes, memory and bandwidth are limited; what came is in ``FetchMeta.capture``, also if the fetch failed.
``http.py`` and ``scheme_handler.py`` add how bytes are sent and received.
"""

from __future__ import annotations

import asyncio
import weakref
from functools import lru_cache
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING, TypeVar

from scrapy.exceptions import DownloadCancelledError, DownloadTimeoutError

from webcrawl.archive.capture import Capture
from webcrawl.config import setting_value
from webcrawl.fetching.bandwidth import get_bandwidth
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.failures import LocalShortageError, translate
from webcrawl.fetching.meta import begin_fetch
from webcrawl.fetching.network import close_network, get_network
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused
from webcrawl.scope.exclusion import ExclusionRule
from webcrawl.storage.contract import uptime
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.fetching.meta import FetchMeta

SHORTAGE_PATIENCE_SECONDS = 20.0
"""Seconds that a request waits for a file or a port; then its URL goes back to its queue."""
HELD_SECONDS = 0.1
"""The shortest interval in seconds at which the deadline of a paused transfer is checked again."""
ANNOUNCED_FACTOR = 10
"""The default of ``DOWNLOAD_ANNOUNCED_MAXSIZE`` as a multiple of DOWNLOAD_MAXSIZE: longer announced bodies are not
read.
"""
UNWANTED_TYPE = "mime"
ANNOUNCED_OVERSIZE = "length"
STOPPED = "stopped"

T = TypeVar("T")


class TransferHandler:
    """Scrapy's DownloadHandlerProtocol for the schemes that webcrawl fetches itself.

    Settings: DOWNLOAD_TIMEOUT, DOWNLOAD_MAXSIZE (bytes; a longer body is cut), DOWNLOAD_TEXT_MAXSIZE (bytes; a
    document with links is read up to this limit, but not archived beyond DOWNLOAD_MAXSIZE), and
    DOWNLOAD_ANNOUNCED_MAXSIZE (bytes; a body that is announced longer is not read; 0 for no such limit).
    """

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.bandwidth = get_bandwidth(crawler)
        self._bodies = get_body_memory(crawler)
        self.timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self.maxsize = int(setting_value(settings, "DOWNLOAD_MAXSIZE"))
        self.text_maxsize = max(self.maxsize, settings.getint("DOWNLOAD_TEXT_MAXSIZE"))
        announced = settings.get("DOWNLOAD_ANNOUNCED_MAXSIZE")
        self.announced_maxsize = self.maxsize * ANNOUNCED_FACTOR if announced is None else int(announced)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the handler; called by Scrapy."""
        return cls(crawler)

    async def close(self) -> None:
        """Close all connections."""
        await close_network(self.crawler)

    def transfer(self, request: Request, fetch: FetchMeta, capture: Capture) -> Transfer:
        """Return the transfer of a request. Raises UnsupportedURLSchemeError if it cannot be sent."""
        raise NotImplementedError

    async def download_request(self, request: Request) -> Response:
        """Fetch a request. Raises Scrapy's exceptions; ``failures.failure_word`` returns the word for each."""
        fetch = begin_fetch(request)
        now, since = time(), monotonic()
        capture = fetch.capture = Capture(request.url, request.method, now, now, None, b"", b"", b"", b"")
        account = fetch.account = self._bodies.account(is_inline=fetch.kind in (Kind.INLINE, Kind.ROBOTS))
        transfer: Transfer | None = None
        try:
            transfer = self.transfer(request, fetch, capture)
            response = await transfer.run()
        except Exception as error:
            account.release()
            # The wall clock may be set while a request is open.
            sent_at = since if transfer is None else transfer.sent_at
            capture.ended_at = capture.started_at + monotonic() - sent_at
            failure = translate(error, request.url)
            if failure is error:
                raise
            raise failure from error
        if fetch.lease_id is None:
            # There is no event that marks the end of such a request.
            weakref.finalize(response, account.release)
        transfer.finish(response)
        return response


class Transfer:
    """One request on its way. While there is no memory for more of its body, or the bandwidth limit does not allow
    it, it is paused, and its time stands still.

    A subclass sends and receives: it implements ``run``, ``expire``, ``pause``, ``resume`` and ``most_bytes``.
    """

    def __init__(
        self, handler: TransferHandler, request: Request, fetch: FetchMeta, capture: Capture
    ) -> None:
        assert fetch.account is not None
        self.request = request
        self.network = get_network(handler.crawler)
        self.sent_at = monotonic()
        """Monotonic seconds of ``capture.started_at``."""
        self.deadline = self.sent_at + (request.meta.get("download_timeout") or handler.timeout)
        """Monotonic seconds; the time of pauses is added."""
        maxsize = request.meta.get("download_maxsize")
        if maxsize is None:
            maxsize = fetch.maxsize
        self.limit = handler.maxsize if maxsize is None else int(maxsize)
        """Bytes of a payload that are archived, 0 for all."""
        self.text_limit = handler.text_maxsize if maxsize is None and self.limit else self.limit
        """Bytes that are read of a payload that may have links, 0 for all."""
        # A robots.txt is read up to its limit, however long it is announced; a part of a file is of no use.
        self._announced_limit = (
            handler.announced_maxsize
            if fetch.kind == Kind.PAGE
            else self.limit
            if fetch.kind == Kind.INLINE
            else 0
        )
        self._handler = handler
        self._fetch = fetch
        self._capture = capture
        self._account = fetch.account
        self._holds = 0
        """The number of reasons to wait: memory, bandwidth."""
        self._held_at = 0.0
        """Monotonic seconds since when there is one."""
        self._timer: asyncio.TimerHandle | None = None

    # -- of the subclass -------------------------------------------------------------------------------------

    async def run(self) -> Response:
        """Send the request, receive the response and complete the capture."""
        raise NotImplementedError

    def finish(self, response: Response) -> None:
        """Raise for a response for which Scrapy expects an exception."""

    def expire(self, reason: Exception) -> None:
        """End ``run``: its time or its lease is over. What came is kept; without any, ``run`` fails."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stop reading until ``resume``."""
        raise NotImplementedError

    def resume(self) -> None:
        """Read on, if each ``pause`` had its ``resume``."""
        raise NotImplementedError

    def most_bytes(self) -> int | None:
        """Return the most bytes that the body may need, including its decoded form; None if there is no limit."""
        raise NotImplementedError

    # -- sending ---------------------------------------------------------------------------------------------

    async def opened(self, opening: Callable[[float], Awaitable[T]]) -> T:
        """Return the connection that ``opening`` opens within so many seconds. While this machine has no resources
        for one, wait without counting it towards the time of the request.

        Raises LocalShortageError when that takes too long, and what ``opening`` raises.
        """
        shortage, began = self.network.shortage, monotonic()
        while True:
            if (pause := shortage.left) > 0:
                self._stand_still(pause)
                await shortage.wait()
            started = monotonic()
            try:
                return await opening(max(0.001, self.deadline - started))
            except LocalShortageError:
                now = monotonic()
                if now - began > SHORTAGE_PATIENCE_SECONDS:
                    raise
                self._stand_still(now - started)

    def _stand_still(self, seconds: float) -> None:
        self.deadline += seconds
        self.sent_at += seconds
        self._capture.started_at += seconds

    def check_may_send(self, url: str) -> None:
        """Check the lease and the exclusions just before something is sent to the server of ``url``: name, connection
        and TLS may have taken half a minute.

        Raises DownloadCancelledError, Refused.
        """
        fetch = self._fetch
        if fetch.validity.is_over():
            raise self._lease_ended()
        exclusions = fetch.exclusions
        if exclusions is not None:
            detail, fetch.sent_under = exclusions.look(url, get_host(url))
            if detail is not None:
                raise Refused(ExclusionRule.name, f"{url} is covered by {detail} since a moment ago")

    def _lease_ended(self) -> DownloadCancelledError:
        return DownloadCancelledError(f"{self.request.url}: the lease of its key has ended")

    # -- receiving -------------------------------------------------------------------------------------------

    def refusal(self, content_type: bytes | None, announced: int) -> str | None:
        """Return None, or the word for the reason why a body is not read: by its type, None to ignore it, and its
        announced length in bytes, 0 for none.
        """
        wanted = self._fetch.wanted
        if wanted is not None and content_type is not None and not is_wanted(content_type, wanted):
            return UNWANTED_TYPE
        if 0 < self._announced_limit < announced:
            return ANNOUNCED_OVERSIZE
        return None

    def grown(self, size: int) -> None:
        """Charge the body so far, of so many bytes, to the memory of all bodies; more will come."""
        account = self._account
        account.resize(size)
        if account.room or account.has_requested:
            return
        if not account.request(self.most_bytes(), self.go_on):
            self.slow_down()
            self._give_way()

    def charge(self, size: int, *, waits: bool) -> None:
        """Charge a read to the bandwidth limit. ``waits``: whether the next one may have to wait."""
        bandwidth, fetch = self._handler.bandwidth, self._fetch
        if bandwidth.is_on:
            fetch.received_bytes += size
            fetch.reserved_bytes = bandwidth.received(size, fetch.reserved_bytes, self if waits else None)

    def slow_down(self) -> None:
        """Pause for one more reason."""
        if not self._holds:
            self._held_at = monotonic()
        self._holds += 1
        self.pause()

    def go_on(self) -> None:
        """Note that a reason to wait is gone; without any, reading goes on."""
        self._holds -= 1
        if not self._holds:
            self._fetch.held_seconds += monotonic() - self._held_at
        self.resume()

    def _give_way(self) -> None:
        """While the body waits for memory, end the transfer if an inline request waits for its key: those that have
        the memory may wait for that request."""
        if not self._account.is_waiting or self._fetch.gives_way is None or self._account.is_inline:
            return
        if self._fetch.gives_way():
            self._fetch.gave_way = True
            self.expire(self._gave_way())
        else:
            asyncio.get_running_loop().call_later(HELD_SECONDS, self._give_way)

    def _gave_way(self) -> DownloadCancelledError:
        return DownloadCancelledError(
            f"{self.request.url}: no memory for its body, and others wait for its host"
        )

    def check_kept(self) -> None:
        """Raise DownloadCancelledError if the transfer gave way: nothing of it is kept."""
        if self._fetch.gave_way:
            self._capture.payload = b""
            raise self._gave_way()

    # -- time ------------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Expire when the time or the lease is over, from now on."""
        now, validity = monotonic(), self._fetch.validity
        left = self.deadline + self._fetch.held_seconds - now
        if self._holds:
            left = max(left + now - self._held_at, HELD_SECONDS)
        # The lease may have been renewed when it is looked at again.
        lease_left = inf if (ends_at := validity.ends_at) == inf else ends_at - uptime()
        if lease_left <= 0:
            # From now on another process may contact the host.
            self.expire(self._lease_ended())
        elif left <= 0:
            self.expire(DownloadTimeoutError(f"{self.request.url}: no reply in time"))
        else:
            self._timer = asyncio.get_running_loop().call_later(min(left, lease_left), self.watch)

    def end_watch(self) -> None:
        """End the watch, and all reasons to wait."""
        if self._timer is not None:
            self._timer.cancel()
        self._account.stop_waiting()
        if self._holds:
            self._handler.bandwidth.forget(self)
        while self._holds:
            self.go_on()


@lru_cache(maxsize=4096)
def is_wanted(content_type: bytes, wanted: tuple[str, ...]) -> bool:
    """Return True if a Content-Type matches a pattern (``text/html``, ``text/*``, ``*/*``); an empty one is
    wanted.
    """
    mime = content_type.partition(b";")[0].partition(b",")[0].strip().lower().decode("latin-1")
    if not mime:
        return True
    major = mime.partition("/")[0]
    return mime in wanted or f"{major}/*" in wanted or "*/*" in wanted
