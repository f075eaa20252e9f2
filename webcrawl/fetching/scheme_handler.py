"""The base class of download handlers for other schemes than http and https.

It does what every handler owes the crawl, so that a handler for one more scheme implements its protocol alone: the
address of a host is checked before a socket is connected; the exclusion list and the lease are checked just before;
time, sizes and memory are limited; the fetch log and the WARC file get what came. ``docs/internals/add-a-scheme.md``
has a handler in twenty lines.
"""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING, ClassVar

from scrapy.exceptions import DownloadCancelledError, DownloadTimeoutError, UnsupportedURLSchemeError
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from webcrawl.archive.capture import Capture
from webcrawl.fetching.bandwidth import bandwidth_of
from webcrawl.fetching.body_memory import body_memory_of
from webcrawl.fetching.failures import (
    EmptyResponseError,
    LocalShortageError,
    MalformedResponseError,
    translate,
)
from webcrawl.fetching.http import SHORTAGE_PATIENCE_SECONDS, check_exclusions
from webcrawl.fetching.meta import begin_fetch
from webcrawl.fetching.network import Attempt, close_network, network_of
from webcrawl.fetching.reading import ANNOUNCED_OVERSIZE, HELD_SECONDS, UNWANTED_TYPE, is_wanted
from webcrawl.frontier.records import Kind
from webcrawl.parsing.mime import DIRECTORY_TYPES, HTML_TYPES, mime_type, sniffed_type
from webcrawl.refusal import Refused
from webcrawl.storage.contract import uptime
from webcrawl.urls.politeness_key import host_of, port_of
from webcrawl.urls.schemes import ROBOTS_PATH, requested_form

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any, Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.archive.capture import Truncated
    from webcrawl.fetching.meta import FetchMeta
    from webcrawl.fetching.network import Network

READ_BYTES = 1 << 16
"""Bytes that are read from a connection at a time, and the longest line of a control connection."""
CLOSE_SECONDS = 1.0
"""Seconds that TLS may take to close a connection."""
UNLIMITED = 1 << 62
"""Bytes of a body without a limit."""


class SchemeHandler:
    """Scrapy's DownloadHandlerProtocol for one scheme. A subclass implements ``fetch``, and perhaps ``links``.

    Settings: DOWNLOAD_TIMEOUT, DOWNLOAD_CONNECT_TIMEOUT, DOWNLOAD_MAXSIZE, DOWNLOAD_TEXT_MAXSIZE,
    DOWNLOAD_ANNOUNCED_MAXSIZE, MIME_TYPES_WANTED, and those of https for TLS, with the same meaning as for http.
    """

    lazy = True
    robots_path: ClassVar[str | None] = ROBOTS_PATH
    """The path of robots.txt in URLs of the scheme; None if the scheme has none."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        settings = crawler.settings
        self._bodies = body_memory_of(crawler)
        self.bandwidth = bandwidth_of(crawler)
        self.timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self.maxsize = settings.getint("DOWNLOAD_MAXSIZE")
        self.text_maxsize = max(self.maxsize, settings.getint("DOWNLOAD_TEXT_MAXSIZE"))
        self.announced_maxsize = settings.getint("DOWNLOAD_ANNOUNCED_MAXSIZE")
        self._links_max = settings.getint("LINKS_PER_PAGE_MAX", 5000)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the handler; called by Scrapy."""
        return cls(crawler)

    async def close(self) -> None:
        """Close all connections."""
        await close_network(self.crawler)

    async def fetch(self, transfer: Transfer) -> None:
        """Request ``transfer.url``: connect, call ``transfer.begin`` once with the reply, and ``transfer.receive`` if
        that returns True. Raises OSError and the exceptions of ``failures`` for a failure.
        """
        raise NotImplementedError

    def links(self, transfer: Transfer, body: bytes) -> Iterable[tuple[str, str]]:
        """Yield the links of a document as written, each with its text. HTML, the listings of FTP and the menus of
        Gopher need no such method.
        """
        return ()

    async def download_request(self, request: Request) -> Response:
        """Fetch a request. Raises Scrapy's exceptions; ``failures.failure_word`` returns the word for each."""
        fetch = begin_fetch(request)
        now = time()
        capture = Capture(request.url, request.method, now, now, None, b"", b"", b"", b"")
        fetch.capture = capture
        account = fetch.account = self._bodies.account()
        try:
            transfer = Transfer(self, request, fetch, capture, network_of(self.crawler))
            await transfer.run(self.fetch(transfer))
            response = transfer.response()
        except Exception as error:
            account.release()
            capture.resource_type = None
            failure = translate(error, request.url)
            if failure is error:
                raise
            raise failure from error
        if 200 <= response.status < 300:
            fetch.found = list(islice(self.links(transfer, response.body), self._links_max))
        if fetch.lease_id is None:
            # There is no event that marks the end of such a request.
            weakref.finalize(response, account.release)
        return response


class _ResumingContext(ssl.SSLContext):
    """A context by which one connection resumes a session; asyncio has no argument for it."""

    def __new__(cls, context: ssl.SSLContext, session: ssl.SSLSession) -> _ResumingContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, context: ssl.SSLContext, session: ssl.SSLSession) -> None:
        self._context = context
        self._resumed = session

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return self._context.wrap_bio(
            incoming, outgoing, server_side, server_hostname, session or self._resumed
        )


class Stream:
    """A connection of a transfer, by the asyncio streams ``reader`` and ``writer``."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        host: str,
        charge: Callable[[int, bool], _Turn | None],
        until: Callable[[_Turn], Awaitable[None]],
    ) -> None:
        """``charge``: called with the size of each read, and whether the caller can wait; ``until``: waits for the
        turn that it returned.
        """
        self._reader = reader
        self._charge = charge
        self._until = until
        self._writer = writer
        self._host = host
        self._silent = True
        peer = writer.get_extra_info("peername")
        self.ip = str(peer[0])
        """The remote address."""

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)

    async def line(self, longest: int = 4096) -> bytes:
        """Return the next line without its end. Raises MalformedResponseError for one that is too long, and for the
        end of the connection.
        """
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if self._silent and not error.partial:
                raise EmptyResponseError("the server closed the connection without an answer") from error
            if not error.partial:
                raise ConnectionResetError("the server closed the connection") from error
            raise MalformedResponseError("the server closed the connection within a line") from error
        except asyncio.LimitOverrunError as error:
            raise MalformedResponseError("a line without an end") from error
        self._silent = False
        # The reply to a command is never waited for because of the limit: its time is short.
        self._charge(len(line), False)
        if len(line) > longest:
            raise MalformedResponseError(f"a line of more than {longest} bytes")
        return line.rstrip(b"\r\n")

    async def read(self) -> bytes:
        """Return the bytes that have come, at least one; nothing at the end of the connection."""
        data = await self._reader.read(READ_BYTES)
        if data and (turn := self._charge(len(data), True)) is not None:
            await self._until(turn)
        return data

    async def start_tls(self, context: ssl.SSLContext, resuming: Stream | None = None) -> None:
        """Continue in TLS. ``resuming``: a connection with the same context, whose session is resumed."""
        if resuming is not None and (session := resuming._session()) is not None:
            context = _ResumingContext(context, session)
        await self._writer.start_tls(context, server_hostname=self._host)

    def _session(self) -> ssl.SSLSession | None:
        tls: ssl.SSLObject | None = self._writer.get_extra_info("ssl_object")
        return None if tls is None else tls.session

    def close(self) -> None:
        """Close the connection without waiting."""
        with suppress(OSError, RuntimeError):
            self._writer.close()

    async def end(self, *, at_once: bool) -> None:
        """Close the connection and wait for a moment until it is; ``at_once``: what is not sent yet is lost."""
        self.close()
        try:
            async with asyncio.timeout(0 if at_once else CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (OSError, RuntimeError):
            self._writer.transport.abort()


class _Turn:
    """The wait of one transfer for the bandwidth limit."""

    def __init__(self) -> None:
        self.has_come = asyncio.Event()
        self.has_come.set()

    def slow_down(self) -> None:
        self.has_come.clear()

    def go_on(self) -> None:
        self.has_come.set()


class Transfer:
    """One request on its way. All of it takes place within the time of one request and within the key's lease."""

    def __init__(
        self, handler: SchemeHandler, request: Request, fetch: FetchMeta, capture: Capture, network: Network
    ) -> None:
        url = requested_form(request.url)
        if url is None:
            raise UnsupportedURLSchemeError(f"{request.url} names no host")
        self.request = request
        self.url = url
        """The URL without credentials and fragment, with a host as in http URLs."""
        self.host, self.port = host_of(url), port_of(url)
        self.path = url[url.index("/", url.index("/") + 2) :]
        """Path and query, as in the URL."""
        self.network = network
        self._handler = handler
        self._fetch = fetch
        self._capture = capture
        self._since = monotonic()
        self._deadline = self._since + (request.meta.get("download_timeout") or handler.timeout)
        self._held_at: float | None = None
        self._attempt = Attempt(self.host, place=fetch.place)
        self._streams: list[Stream] = []
        self._over: Exception | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._status: int | None = None
        self._mime: str | None = None
        self._content_type: str | None = None
        self._location: str | None = None
        self._size: int | None = None
        self._body = bytearray()
        self._received = False
        self._refusal: str | None = None

    # -- calls of handlers -----------------------------------------------------------------------------------

    async def connect(self, port: int | None = None, *, tls: bool = False, at: str | None = None) -> Stream:
        """Return a connection to the host: to ``port``, or the port of the URL; ``at``: to this address of it."""
        began = monotonic()
        if at is not None:
            self._attempt.place = at
        while True:
            await self.network.shortage.wait()
            try:
                opened = await self.network.open_socket(
                    self.host, port or self.port, self._attempt, max(0.001, self._deadline - monotonic())
                )
                break
            except LocalShortageError:
                if monotonic() - began > SHORTAGE_PATIENCE_SECONDS:
                    raise
            finally:
                self._capture.ip = self._attempt.ip
        try:
            if self._fetch.validity.is_over():
                raise DownloadCancelledError(f"{self.request.url}: the lease of its key has ended")
            check_exclusions(self._fetch, self.url)
            name = self.host.strip("[]")
            reader, writer = await asyncio.open_connection(
                sock=opened,
                limit=READ_BYTES,
                ssl=self.network.tls if tls else None,
                server_hostname=name if tls else None,
            )
        except BaseException:
            opened.close()
            raise
        stream = Stream(reader, writer, name, self._charge, self._until)
        self._streams.append(stream)
        return stream

    def begin(
        self,
        status: int,
        mime: str | None = None,
        *,
        reply: str | None = None,
        location: str | None = None,
        size: int | None = None,
    ) -> bool:
        """Take the reply; return True if its document is to be received.

        ``status``: the HTTP status of the same meaning, by which the crawl decides: 200, 301 with ``location``, 404,
        503. ``mime``: the type of the document, with parameters; None to determine it by the first bytes. ``reply``:
        the code in the protocol's own words, for the fetch log. ``size``: the announced length in bytes.
        """
        self._status, self._size = status, size
        self._location = location if 300 <= status < 400 else None
        self._capture.reply = reply
        if not 200 <= status < 300:
            return False
        self._set_type(mime)
        announced = self._handler.announced_maxsize if self._fetch.kind == Kind.PAGE else 0
        if self._refusal is None and size is not None and 0 < announced < size:
            self._refusal = ANNOUNCED_OVERSIZE
        return self._refusal is None

    async def receive(self, stream: Stream, first: bytes = b"") -> None:
        """Receive the document from a connection, up to its end or the limit of its type. ``first``: bytes of it that
        were read before.
        """
        self._received = True
        try:
            while data := first or await stream.read():
                first = b""
                self._body += data
                if self._mime is None:
                    self._set_type(sniffed_type(bytes(self._body)))
                    if self._refusal is not None:
                        return
                if 0 < (limit := self._limit()) < len(self._body):
                    del self._body[limit:]
                    self._capture.truncated = "length"
                    return
                await self._account_for(limit)
        except (ConnectionError, MalformedResponseError):
            self.cut("disconnect")

    def cut(self, reason: Truncated) -> None:
        """Note that the document is not whole."""
        self._capture.truncated = self._capture.truncated or reason

    @property
    def mime(self) -> str | None:
        """The type of the document, as far as it is known."""
        return self._mime

    @property
    def refused(self) -> bool:
        """True if the document is not wanted."""
        return self._refusal is not None

    def note_reply(self, reply: str) -> None:
        """Note the last reply in the protocol's own words."""
        self._capture.reply = reply

    @property
    def received_bytes(self) -> int:
        """The length of the document so far."""
        return len(self._body)

    @property
    def is_cut(self) -> bool:
        """True if the document is not whole."""
        return self._capture.truncated is not None

    def refuse_unwanted(self, mime: str | None) -> None:
        """End the request before anything is sent if its document, whose type the URL tells, would not be read.

        Raises Refused.
        """
        if self._is_unwanted(mime):
            raise Refused(UNWANTED_TYPE, f"{self.url} would be {mime}, which MIME_TYPES_WANTED does not have")

    # -- calls of the base class -----------------------------------------------------------------------------

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work of a handler until it is done, or its time or its lease is over."""
        task = asyncio.ensure_future(work)
        self._task = task
        self._look()
        try:
            await task
        except asyncio.CancelledError:
            if self._over is None:
                raise
            if not self._received:
                raise self._over from None
            self.cut("time")
        except OSError:
            # A document that came is kept.
            if not self._received:
                raise
            self.cut("disconnect")
        finally:
            task.cancel()
            if self._timer is not None:
                self._timer.cancel()
            for stream in self._streams:
                await stream.end(at_once=self._over is not None)
            self._capture.ended_at = self._capture.started_at + monotonic() - self._since

    def response(self) -> Response:
        """Return Scrapy's Response, and complete the capture."""
        capture, account = self._capture, self._fetch.account
        status, body = self._status, bytes(self._body)
        if status is None:
            raise MalformedResponseError(f"{self.request.url}: no reply")
        flags = []
        if self._refusal is not None:
            flags, body = [f"cancelled:{self._refusal}"], b""
        elif capture.truncated is not None:
            flags = ["truncated", "dataloss"] if capture.truncated == "disconnect" else ["truncated"]
        maxsize = self._maxsize()
        if self._received and self._refusal is None and 200 <= status < 300:
            capture.payload = body
            capture.resource_type = self._content_type or self._mime or "application/octet-stream"
            if 0 < maxsize < len(body):
                capture.payload, capture.truncated = body[:maxsize], "length"
        else:
            capture.truncated = None
        if account is not None:
            account.resize(len(body) + (len(capture.payload) if capture.payload is not body else 0))
            account.trim()
        headers = Headers()
        if (declared := self._content_type or self._mime) is not None and 200 <= status < 300:
            headers[b"Content-Type"] = declared.encode("latin-1", "replace")
        if self._location is not None:
            headers[b"Location"] = self._location.encode()
        response_class = responsetypes.from_args(headers=headers, url=self.url, body=body)
        scheme = self.url.partition(":")[0]
        return response_class(
            self.request.url, status=status, headers=headers, body=body, flags=flags, protocol=scheme
        )

    def _set_type(self, content_type: str | None) -> None:
        mime = self._mime = mime_type(content_type)
        self._content_type = content_type if mime is not None else None
        if self._is_unwanted(mime):
            self._refusal = UNWANTED_TYPE

    def _is_unwanted(self, mime: str | None) -> bool:
        wanted = self._fetch.wanted
        if mime is None or wanted is None or mime in DIRECTORY_TYPES:
            return False
        return not is_wanted(mime.encode("latin-1", "replace"), wanted)

    def _maxsize(self) -> int:
        given = self.request.meta.get("download_maxsize")
        given = self._fetch.maxsize if given is None else given
        return self._handler.maxsize if given is None else int(given)

    def _limit(self) -> int:
        """Return the number of bytes after which the document is cut, 0 for none."""
        limit = self._maxsize()
        may_have_links = self._mime is None or self._mime in HTML_TYPES or self._mime in DIRECTORY_TYPES
        return max(limit, self._handler.text_maxsize) if limit and may_have_links else limit

    def _charge(self, size: int, waits: bool) -> _Turn | None:
        """Charge a read to the bandwidth limit. Return the turn for which the next one must wait."""
        bandwidth = self._handler.bandwidth
        if not bandwidth.is_on:
            return None
        fetch = self._fetch
        fetch.received_bytes += size
        turn = _Turn() if waits else None
        fetch.reserved_bytes = bandwidth.received(size, fetch.reserved_bytes, turn)
        return None if turn is None or turn.has_come.is_set() else turn

    async def _until(self, turn: _Turn) -> None:
        """Wait for a turn. Time stands still meanwhile."""
        self._held_at = monotonic()
        try:
            await turn.has_come.wait()
        finally:
            self._handler.bandwidth.forget(turn)
            self._fetch.held_seconds += monotonic() - self._held_at
            self._held_at = None

    async def _account_for(self, limit: int) -> None:
        """Charge the body to the memory of all bodies; wait while there is none, for which time stands still."""
        account = self._fetch.account
        assert account is not None
        account.resize(len(self._body))
        if account.room or account.has_requested:
            return
        most = min(limit or UNLIMITED, self._size or UNLIMITED)
        self._held_at = monotonic()
        try:
            await account.until_granted(most)
        finally:
            self._fetch.held_seconds += monotonic() - self._held_at
            self._held_at = None

    def _look(self) -> None:
        """End the work if its time or its lease is over, else look again later."""
        now, hold = monotonic(), self._fetch.validity
        left = self._deadline + self._fetch.held_seconds - now
        if self._held_at is not None:
            left = max(left + now - self._held_at, HELD_SECONDS)
        lease_left = inf if hold.ends_at == inf else hold.ends_at - uptime()
        if left <= 0 or lease_left <= 0:
            self._over = (
                DownloadTimeoutError(f"{self.request.url}: no reply in time")
                if lease_left > 0
                else DownloadCancelledError(f"{self.request.url}: the lease of its key has ended")
            )
            self._task.cancel()
        else:
            self._timer = asyncio.get_running_loop().call_later(min(left, lease_left), self._look)
