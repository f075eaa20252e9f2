"""The base class of download handlers for other schemes than http and https.

With it a handler for one more scheme implements its protocol alone: what every fetch owes the crawl is in
``transfer.py``. ``docs/internals/add-a-scheme.md`` has a handler in twenty lines.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from scrapy.exceptions import UnsupportedURLSchemeError
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from webcrawl.fetching.failures import EmptyResponseError, MalformedResponseError
from webcrawl.fetching.network import Attempt
from webcrawl.fetching.transfer import UNWANTED_TYPE, Transfer, TransferHandler
from webcrawl.parsing.mime import DIRECTORY_TYPES, HTML_TYPES, mime_type, sniffed_type
from webcrawl.refusal import Refused
from webcrawl.urls.politeness_key import get_host, get_port
from webcrawl.urls.schemes import ROBOTS_PATH, requested_form

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.archive.capture import Capture, Truncated
    from webcrawl.fetching.meta import FetchMeta

READ_BYTES = 1 << 16
"""Bytes that are read from a connection at a time, and the longest line of a control connection."""
CLOSE_SECONDS = 1.0
"""Seconds that TLS may take to close a connection."""


class SchemeHandler(TransferHandler):
    """Scrapy's DownloadHandlerProtocol for one scheme. A subclass implements ``fetch``, and perhaps ``links``.

    Settings, beside those of ``TransferHandler``: DOWNLOAD_CONNECT_TIMEOUT, MIME_TYPES_WANTED, and those of https for
    TLS, with the same meaning as for http.
    """

    robots_path: ClassVar[str | None] = ROBOTS_PATH
    """The path of robots.txt in URLs of the scheme; None if the scheme has none."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.links_max = crawler.settings.getint("LINKS_PER_PAGE_MAX", 5000)

    async def fetch(self, transfer: SchemeTransfer) -> None:
        """Request ``transfer.url``: connect, call ``transfer.begin`` once with the reply, and ``transfer.receive`` if
        that returns True. Raises OSError and the exceptions of ``failures`` for a failure.
        """
        raise NotImplementedError

    def links(self, transfer: SchemeTransfer, body: bytes) -> Iterable[tuple[str, str]]:
        """Yield the links of a document as written, each with its text. HTML, the listings of FTP and the menus of
        Gopher need no such method.
        """
        return ()

    def transfer(self, request: Request, fetch: FetchMeta, capture: Capture) -> Transfer:
        """Return the transfer of a request. Raises UnsupportedURLSchemeError if its URL has no host."""
        return SchemeTransfer(self, request, fetch, capture)


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
        transfer: SchemeTransfer,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._transfer = transfer
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
        self._transfer.charge(len(line), waits=False)
        if len(line) > longest:
            raise MalformedResponseError(f"a line of more than {longest} bytes")
        return line.rstrip(b"\r\n")

    async def read(self) -> bytes:
        """Return the bytes that have come, at least one; nothing at the end of the connection."""
        await self._transfer.may_read()
        data = await self._reader.read(READ_BYTES)
        if data:
            self._transfer.charge(len(data), waits=True)
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


class SchemeTransfer(Transfer):
    """One request of another scheme: all that ``SchemeHandler.fetch`` does, on all of its connections."""

    def __init__(self, handler: SchemeHandler, request: Request, fetch: FetchMeta, capture: Capture) -> None:
        url = requested_form(request.url)
        if url is None:
            raise UnsupportedURLSchemeError(f"{request.url} names no host")
        super().__init__(handler, request, fetch, capture)
        self.url = url
        """The URL without credentials and fragment, with a host as in http URLs."""
        self.host, self.port = get_host(url), get_port(url)
        self.path = url[url.index("/", url.index("/") + 2) :]
        """Path and query, as in the URL."""
        self._scheme_handler = handler
        self._attempt = Attempt(self.host, place=fetch.place)
        self._streams: list[Stream] = []
        self._task: asyncio.Future[None] | None = None
        self._over: Exception | None = None
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._status: int | None = None
        self._mime: str | None = None
        self._content_type: str | None = None
        self._location: str | None = None
        self._size = 0
        self._body = bytearray()
        self._received = False
        self._refusal: str | None = None

    # -- calls of handlers -----------------------------------------------------------------------------------

    async def connect(self, port: int | None = None, *, tls: bool = False, at: str | None = None) -> Stream:
        """Return a connection to the host: to ``port``, or the port of the URL; ``at``: to this address of it."""
        attempt = self._attempt
        if at is not None:
            attempt.place = at
        try:
            opened = await self.opened(
                partial(self.network.open_socket, self.host, port or self.port, attempt)
            )
        finally:
            self._capture.ip = attempt.ip
        try:
            self.check_may_send(self.url)
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
        stream = Stream(reader, writer, name, self)
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
        self._status, self._size = status, size or 0
        self._location = location if 300 <= status < 400 else None
        self._capture.reply = reply
        if not 200 <= status < 300:
            return False
        self._set_type(mime)
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
                if 0 < (limit := self._read_limit()) < len(self._body):
                    del self._body[limit:]
                    self._capture.truncated = "length"
                    return
                self.grown(len(self._body))
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
        if self.refusal(_essence(mime), 0) is not None:
            raise Refused(UNWANTED_TYPE, f"{self.url} would be {mime}, which MIME_TYPES_WANTED does not have")

    # -- calls of the base class, and of streams -------------------------------------------------------------

    async def run(self) -> Response:
        """Do the work of the handler until it is done, or its time or its lease is over; return the response."""
        task = self._task = asyncio.ensure_future(self._scheme_handler.fetch(self))
        self.watch()
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
            self.end_watch()
            for stream in self._streams:
                await stream.end(at_once=self._over is not None)
        self._capture.ended_at = self._capture.started_at + monotonic() - self.sent_at
        self.check_kept()
        return self._response()

    def finish(self, response: Response) -> None:
        """Find the links in the body."""
        if 200 <= response.status < 300:
            links = self._scheme_handler.links(self, response.body)
            self._fetch.found = list(islice(links, self._scheme_handler.links_max))

    def expire(self, reason: Exception) -> None:
        """End the work of the handler."""
        self._over = self._over or reason
        if self._task is not None:
            self._task.cancel()

    def pause(self) -> None:
        """Let ``may_read`` wait."""
        self._is_free.clear()

    def resume(self) -> None:
        """Let it wait no longer, if no reason is left."""
        if not self._holds:
            self._is_free.set()

    async def may_read(self) -> None:
        """Wait while more must not be read."""
        await self._is_free.wait()

    def most_bytes(self) -> int | None:
        """Return the most bytes that the body may need."""
        return min(filter(None, (self._read_limit(), self._size)), default=None)

    def _response(self) -> Response:
        """Complete the capture and build Scrapy's Response."""
        capture, account = self._capture, self._account
        status, body = self._status, bytes(self._body)
        if status is None:
            raise MalformedResponseError(f"{self.request.url}: no reply")
        flags = []
        if self._refusal is not None:
            flags, body = [f"cancelled:{self._refusal}"], b""
        elif capture.truncated is not None:
            flags = ["truncated", "dataloss"] if capture.truncated == "disconnect" else ["truncated"]
        if self._received and self._refusal is None and 200 <= status < 300:
            capture.payload = body
            capture.resource_type = self._content_type or self._mime or "application/octet-stream"
            if 0 < self.limit < len(body):
                capture.payload, capture.truncated = body[: self.limit], "length"
        else:
            capture.truncated = None
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
        self._refusal = self.refusal(_essence(mime), self._size)

    def _read_limit(self) -> int:
        """Return the number of bytes after which the document is cut, 0 for none."""
        may_have_links = self._mime is None or self._mime in HTML_TYPES or self._mime in DIRECTORY_TYPES
        return self.text_limit if may_have_links else self.limit


def _essence(mime: str | None) -> bytes | None:
    """Return a type as it is compared with those that are wanted; None for directories, which are always wanted."""
    return None if mime is None or mime in DIRECTORY_TYPES else mime.encode("latin-1", "replace")
