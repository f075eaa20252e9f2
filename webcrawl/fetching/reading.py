"""The reading of a response: its deadline, its memory, the file for a long payload, and the gate for unwanted bodies.

A long payload is written to a file; only the bytes that are being written are in memory. The gate decides by the
headers whether a body is read, and sends Scrapy's signals that may stop a download.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils._download_handlers import check_stop_download
from xxhash import xxh3_128

from webcrawl.archive.capture import Spooled
from webcrawl.archive.disk import translated
from webcrawl.archive.spool_files import delete
from webcrawl.fetching.body import announced_lengths
from webcrawl.fetching.response_head import MAX_TYPE_BYTES
from webcrawl.fetching.scrapy_response import scrapy_headers
from webcrawl.fetching.signals import has_listeners
from webcrawl.parsing.mime import HTML_TYPES, mime_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload

    from webcrawl.archive.capture import Capture
    from webcrawl.fetching.bandwidth import Bandwidth
    from webcrawl.fetching.connection import PageConnection
    from webcrawl.fetching.exchange import Exchange
    from webcrawl.fetching.meta import FetchMeta
    from webcrawl.fetching.response_head import ResponseHead


BUFFER_BYTES = 1 << 18
"""Bytes that are written at a time; a payload that is not longer stays in memory."""


class Spool:
    """Takes one payload. Files are written on a thread; while a second buffer is full the connection is not read."""

    def __init__(self, folder: str, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """``folder`` is created when it is needed. ``pause`` and ``resume`` stop and continue the reading of the
        connection.
        """
        self.folder = folder
        self._pause = pause
        self._resume = resume
        self._paused = False
        self._buffer = bytearray()
        self._length = 0
        self._written_now = 0
        self._hash = xxh3_128()
        self._handle: int | None = None
        self._path: str | None = None
        self._writing: asyncio.Future[None] | None = None
        self._error: OSError | None = None

    @property
    def held(self) -> bytes:
        """The bytes in memory that are in no file."""
        return bytes(self._buffer)

    @property
    def size(self) -> int:
        """Bytes in memory, including those that are being written."""
        return len(self._buffer) + self._written_now

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._length += len(data)
        if self._error is not None:
            return
        self._buffer += data
        if len(self._buffer) <= BUFFER_BYTES:
            return
        if self._writing is None:
            self._begin()
        elif not self._paused:
            self._paused = True
            self._pause()

    def go_on(self) -> None:
        """Resume the connection. Called at the end of the payload at the latest, since the connection is kept for
        other requests.
        """
        if self._paused:
            self._paused = False
            self._resume()

    async def finish(self) -> Spooled | None:
        """End the payload; return None if it is short and all of it ``held``. Raises OSError if it cannot be
        stored.
        """
        try:
            while self._writing is not None:
                await asyncio.wait([self._writing])
                # The steps that follow are run by a callback.
                await asyncio.sleep(0)
            if self._path is None and self._error is None:
                return None
            if self._buffer and self._error is None:
                self._begin()
                return await self.finish()
            if self._error is not None:
                raise self._error
        except BaseException:
            self.discard()
            raise
        self._close()
        assert self._path is not None
        return Spooled(self._path, self._length, self._hash.digest())

    def discard(self) -> None:
        """Delete the file."""
        self._buffer.clear()
        if self._writing is not None:
            self._writing.add_done_callback(lambda _: self.discard())
            return
        self._close()
        if self._path is not None:
            delete(self._path)
            self._path = None

    def _begin(self) -> None:
        data, self._buffer = self._buffer, bytearray()
        self._written_now = len(data)
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._write, data)
        self._writing.add_done_callback(self._written)

    def _write(self, data: bytearray) -> None:
        if self._handle is None:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            self._handle, self._path = tempfile.mkstemp(prefix="payload-", dir=self.folder)
        self._hash.update(data)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._handle, rest) :]

    def _written(self, done: asyncio.Future[None]) -> None:
        self._writing = None
        self._written_now = 0
        error = done.exception()
        if isinstance(error, OSError):
            self._error = error
            self._buffer.clear()
        elif len(self._buffer) > BUFFER_BYTES:
            self._begin()
        self.go_on()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


HELD_SECONDS = 0.1
"""The shortest interval in seconds at which the deadline of a paused response is checked again."""


class FlowControl:
    """Controls the reading of one response. While there is no memory for more of it, or the bandwidth limit does not
    allow it, the connection is paused, and its time stands still.
    """

    def __init__(
        self,
        fetch: FetchMeta,
        limit: Callable[[ResponseHead], int],
        deadline: float,
        connection: PageConnection,
        bandwidth: Bandwidth,
    ) -> None:
        """``limit``: bytes of the payload after a head, 0 for none; ``deadline``: monotonic seconds. ``fetch`` has an
        account.
        """
        assert fetch.account is not None
        self._account = fetch.account
        self._fetch = fetch
        self._limit = limit
        self._deadline = deadline
        self._connection = connection
        self._bandwidth = bandwidth
        self.spool: Spool | None = None
        """Takes the payload of a response that may be longer than what is held in memory."""
        if fetch.spool is not None:
            self.spool = Spool(fetch.spool, connection.pause, connection.resume)
        self._holds = 0
        """The number of reasons to wait: memory, bandwidth."""
        self._held_at = 0.0
        """Monotonic seconds since when there is one."""
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, exchange: Exchange) -> None:
        """Start the deadline: the request is about to be sent."""
        self._exchange = exchange
        exchange.received = self.received
        self._look_at_deadline()

    def grown(self, head: ResponseHead, size: int) -> None:
        """Take the size of the payload so far; more will come."""
        account = self._account
        if self.spool is not None:
            account.resize(self.spool.size)
            return
        account.resize(size)
        if account.room or account.has_requested:
            return
        if not account.request(self._most(head), self.go_on):
            self.slow_down()
            self._give_way()

    def received(self, size: int) -> None:
        """Take the size of a read, which the bandwidth limit charges."""
        fetch = self._fetch
        fetch.received_bytes += size
        waits = None if self._exchange.done.done() else self
        fetch.reserved_bytes = self._bandwidth.received(size, fetch.reserved_bytes, waits)

    def _give_way(self) -> None:
        """While the body waits for memory, end the exchange if an inline request waits for its key: those that have
        the memory may wait for that request."""
        if not self._account.is_waiting or self._fetch.gives_way is None or self._account.is_inline:
            return
        if self._fetch.gives_way():
            self._fetch.gave_way = True
            self._exchange.expire()
        else:
            asyncio.get_running_loop().call_later(HELD_SECONDS, self._give_way)

    def end(self) -> None:
        """End the reading. The exchange refers to its reading: this breaks the reference cycle, in which the body and
        everything else would stay in memory until the garbage collector runs.
        """
        exchange = self._exchange
        exchange.received = None
        del self._exchange
        if self._timer is not None:
            self._timer.cancel()
        if self._holds:
            self._bandwidth.forget(self)
        while self._holds:
            self.go_on()
        account = self._account
        account.resize(len(exchange.payload) if self.spool is None else self.spool.size)
        account.trim(0 if exchange.head is None else self._unfolded(exchange.head))
        if self.spool is not None:
            self.spool.go_on()
            if exchange.head is None:
                self.spool.discard()

    async def keep(self, exchange: Exchange, capture: Capture) -> None:
        """Put the payload of an exchange that is over into the capture.

        Raises:
          StorageFull, StorageLost: it could not be written to its file.
        """
        if self.spool is None:
            capture.payload = exchange.payload
            return
        with translated(Path(self.spool.folder)):
            capture.spooled = await self.spool.finish()
        capture.payload = self.spool.held
        self._account.resize(len(capture.payload))

    def _most(self, head: ResponseHead) -> int | None:
        """Return the most bytes that the body may need, including its decoded form; None if there is no limit."""
        limit = self._limit(head)
        if not limit:
            return None
        announced = max(announced_lengths(head), default=0) or limit
        return min(limit, announced) + self._unfolded(head)

    def _unfolded(self, head: ResponseHead) -> int:
        return self._limit(head) if head.value(b"content-encoding") else 0

    def slow_down(self) -> None:
        """Pause the connection for one more reason."""
        if not self._holds:
            self._held_at = monotonic()
        self._holds += 1
        self._connection.pause()

    def go_on(self) -> None:
        """Note that a reason to wait is gone; without any the connection is read on."""
        self._holds -= 1
        if not self._holds:
            self._fetch.held_seconds += monotonic() - self._held_at
        self._connection.resume()

    def _look_at_deadline(self) -> None:
        now = monotonic()
        left = self._deadline + self._fetch.held_seconds - now
        if self._holds:
            left = max(left + now - self._held_at, HELD_SECONDS)
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(left, self._look_at_deadline)
        else:
            self._exchange.expire()


UNWANTED_TYPE = "mime"
ANNOUNCED_OVERSIZE = "length"
STOPPED = "stopped"


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


def may_have_links(head: ResponseHead) -> bool:
    """Return True if a body is HTML by its Content-Type, or may be HTML since it has none."""
    content_type = head.value(b"content-type")
    return 200 <= head.status < 300 and (content_type is None or _is_html(content_type[:MAX_TYPE_BYTES]))


@lru_cache(maxsize=1024)
def _is_html(content_type: bytes) -> bool:
    mime = mime_type(content_type.decode("latin-1"))
    return mime is None or mime in HTML_TYPES


class Gate:
    """Decides whether the body of one request is read. ``announced_limit`` is in bytes, 0 for none; ``wanted`` is
    None for all.
    """

    def __init__(
        self, crawler: Crawler, request: Request, wanted: tuple[str, ...] | None, announced_limit: int
    ) -> None:
        self._crawler = crawler
        self._request = request
        self._wanted = wanted
        self._announced_limit = announced_limit
        self.stop: StopDownload | None = None
        """The exception that a signal's receiver raised."""

    def on_head(self, head: ResponseHead) -> str | None:
        """Return None, or the reason why the body is not read."""
        listens = has_listeners(self._crawler.signals, signals.headers_received)
        if listens and self._send_headers_received(head):
            return STOPPED
        if self._wanted is not None and 200 <= head.status < 300:
            content_type = head.value(b"content-type")
            if content_type is not None and not is_wanted(content_type[:MAX_TYPE_BYTES], self._wanted):
                return UNWANTED_TYPE
        if self._announced_limit and max(announced_lengths(head), default=0) > self._announced_limit:
            return ANNOUNCED_OVERSIZE
        return None

    def on_payload(self, data: bytes) -> bool:
        """Pass a piece on to the receivers of ``bytes_received``; return False to stop."""
        return not self._send_signal(signals.bytes_received, data=data)

    def _send_headers_received(self, head: ResponseHead) -> bool:
        lengths = announced_lengths(head)
        return self._send_signal(
            signals.headers_received,
            headers=scrapy_headers(head),
            body_length=max(lengths) if lengths else None,
        )

    def _send_signal(self, signal: object, **facts: Any) -> bool:
        self.stop = check_stop_download(signal, self._crawler, self._request, **facts)
        return self.stop is not None
