"""The download handler for http and https: it sends one request exactly as made, and returns the response.

The handler is called by Scrapy's downloader and uses the network. A page that is too long, too slow or cut off is not
lost: the bytes that came are kept and flagged. The bytes on the wire are recorded in ``FetchMeta.capture``, also if a
fetch failed. Redirects, cookies, retries and content codings are handled by other components.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
from scrapy import signals
from scrapy.exceptions import DownloadCancelledError, ResponseDataLossError, UnsupportedURLSchemeError
from scrapy.utils._download_handlers import check_stop_download

from webcrawl.archive.capture import LostSending
from webcrawl.archive.disk import translated
from webcrawl.fetching.body import announced_lengths
from webcrawl.fetching.connection import HTTP2, LONGEST_SECONDS
from webcrawl.fetching.exchange import Exchange
from webcrawl.fetching.failures import (
    EmptyResponseError,
    Http11RequiredError,
    MalformedResponseError,
    OtherProtocolError,
    failure_word,
)
from webcrawl.fetching.network import Attempt, Proxy
from webcrawl.fetching.protocols import WANTING_STATUSES
from webcrawl.fetching.request_head import request_head, split_url
from webcrawl.fetching.response_head import MAX_TYPE_BYTES
from webcrawl.fetching.scrapy_response import scrapy_headers, scrapy_response
from webcrawl.fetching.signals import has_listeners
from webcrawl.fetching.signing import find_signer
from webcrawl.fetching.spool import Spool
from webcrawl.fetching.transfer import ANNOUNCED_OVERSIZE, STOPPED, Transfer, TransferHandler
from webcrawl.parsing.mime import HTML_TYPES, mime_type
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload
    from scrapy.http import Response
    from twisted.internet.ssl import Certificate

    from webcrawl.archive.capture import Capture
    from webcrawl.fetching.connection import PageConnection
    from webcrawl.fetching.meta import FetchMeta
    from webcrawl.fetching.request_head import Target
    from webcrawl.fetching.response_head import ResponseHead

logger = logging.getLogger(__name__)

_SIGNATURE_FIELDS = frozenset((b"Signature", b"Signature-Input", b"Signature-Agent"))
_LINE_END = b"\r\n"
_CONNECTION = re.compile(rb"(?<=\r\n)Connection:[^\r\n]*\r\n", re.IGNORECASE)
"""The field of a head that HTTP/2 forbids."""


class HttpDownloadHandler(TransferHandler):
    """Scrapy's DownloadHandlerProtocol. Both schemes of a crawl share one ``Network``.

    Settings, beside those of ``TransferHandler``: DOWNLOAD_IDLE_CONNECTIONS, and Scrapy's for TLS, DNS and the bind
    address. DOWNLOAD_FAIL_ON_DATALOSS counts only if a project or the command line sets it: bodies that end early are
    kept.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self.fail_on_dataloss = bool(
            settings.getpriority("DOWNLOAD_FAIL_ON_DATALOSS")
            and settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        )

    def transfer(self, request: Request, fetch: FetchMeta, capture: Capture) -> Transfer:
        """Return the transfer of a request. Raises UnsupportedURLSchemeError if it cannot be sent."""
        return HttpTransfer(self, request, fetch, capture)


class HttpTransfer(Transfer):
    """A request of HTTP: one ``Exchange`` on one connection, or a second one if the first connection was closed."""

    def __init__(
        self, handler: HttpDownloadHandler, request: Request, fetch: FetchMeta, capture: Capture
    ) -> None:
        super().__init__(handler, request, fetch, capture)
        capture.request_body = request.body
        try:
            self._target = split_url(request.url)
            self._proxy = _proxy(request)
            self._head = _head(request, self._target, self._proxy)
        except ValueError as error:
            raise UnsupportedURLSchemeError(str(error)) from error
        self._crawler = handler.crawler
        self._signer = find_signer(handler.crawler)
        self._fail_on_dataloss = handler.fail_on_dataloss
        # The TLS of a proxy has nothing to do with that of the server.
        self._can_use_http2 = self._target.scheme == "https" and (
            self._proxy is None or self._proxy.url.startswith("http://")
        )
        self.timeout = self.deadline - self.sent_at
        """Seconds that one sending may take."""
        self._certificate: Certificate | None = None
        """The server's certificate; None without TLS."""
        self._spool: Spool | None = None
        """Takes the payload of a response that may be longer than what is held in memory."""
        self._stop: StopDownload | None = None
        """The exception that a signal's receiver raised."""
        self._has_dataloss = False

    async def run(self) -> Response:
        """Send the request and return the response; send it once more if the server wants another protocol."""
        origin = self._target.origin
        attempt = Attempt(self._target.host, place=self._fetch.place)
        attempt.offers_http2 = self._can_use_http2 and self.network.protocols.offers_http2(origin)
        try:
            exchange = await self._fetch_response(attempt)
        except Exception as error:
            wants_http2 = self._wants_http2(attempt, error)
            if wants_http2 is None:
                raise
            exchange = await self._send_otherwise(error, http2=wants_http2)
        else:
            if self._wants_http2(attempt, exchange):
                exchange = await self._send_otherwise(exchange, http2=True)
        self.check_kept()
        return self._response(exchange)

    def finish(self, response: Response) -> None:
        """Raise for the two kinds of responses for which Scrapy expects an exception."""
        stop = self._stop
        if stop is not None and stop.fail:
            stop.response = response
            raise stop
        if self._has_dataloss and self.request.meta.get("download_fail_on_dataloss", self._fail_on_dataloss):
            raise ResponseDataLossError(f"{self.request.url}: the connection was lost within the body")

    # -- sending ---------------------------------------------------------------------------------------------

    async def _fetch_response(self, attempt: Attempt) -> Exchange:
        """Send and receive; on another connection if an idle one turned out to be closed before the request was sent.

        A request is sent again only if it was sent on a kept connection that then ended without a byte of an answer:
        a server that closes an idle connection never saw the request (RFC 9112, section 9.3.1). That is done once,
        after the key's pause, on a new connection, and for GET and HEAD alone.
        """
        network, capture, fetch = self.network, self._capture, self._fetch
        connect = partial(network.connect, self._target, self._proxy, attempt)
        while True:
            try:
                connection = await self.opened(connect)
            except Exception:
                capture.ip = attempt.ip
                raise
            exchange = await self._exchange_on(connection)
            if exchange.error is None:
                return exchange
            if connection.sent or isinstance(exchange.error, TimeoutError):
                if attempt.fresh or network.is_closed or not self._raced_with_closing(connection, exchange):
                    self._fill(exchange)
                    raise exchange.error
                attempt.fresh = True
                lost_at = capture.started_at + monotonic() - self.sent_at
                word = failure_word(exchange.error)
                capture.lost = LostSending(capture.started_at, lost_at, connection.ip, word)
                network.mistrust(self._target)
                # The server may have seen the request after all.
                await asyncio.sleep(fetch.pause_seconds)
                self.deadline += fetch.pause_seconds

    def _wants_http2(self, attempt: Attempt, outcome: Exchange | Exception) -> bool | None:
        """Return True if the server is to be asked over HTTP/2, False if over HTTP/1.1 again, and None if its answer
        stands, or the failure. That is so if the request was sent twice already: its URL will be tried again.
        """
        protocols, origin = self.network.protocols, self._target.origin
        if self._capture.protocol and isinstance(outcome, MalformedResponseError):
            protocols.note(origin, http2=False)
            return False if isinstance(outcome, Http11RequiredError) and self._may_send_otherwise() else None
        if attempt.offers_http2 or not self._can_use_http2 or not protocols.may_ask(origin):
            return None
        wants = _refuses_http11(outcome) if isinstance(outcome, Exception) else _wants_other(outcome)
        return True if wants and self._may_send_otherwise() else None

    def _may_send_otherwise(self) -> bool:
        request = self.request
        is_harmless = request.method in ("GET", "HEAD") and not request.body
        return is_harmless and self._capture.lost is None and not self.network.is_closed

    async def _send_otherwise(self, first: Exchange | Exception, *, http2: bool) -> Exchange:
        """Send the request once more, in the other protocol, after the key's pause. If the server does not speak it
        nothing is sent, and the first outcome stands.

        This is done once for a server: whatever comes of it is remembered.
        """
        network, capture, fetch, origin = self.network, self._capture, self._fetch, self._target.origin
        network.protocols.note(origin, http2=False)
        before, sent_at = replace(capture), self.sent_at
        lost = self._lost(first)
        await asyncio.sleep(fetch.pause_seconds)
        self.deadline = monotonic() + self.timeout
        attempt = Attempt(self._target.host, place=fetch.place, offers_http2=http2, fresh=True)
        connection = await self._connected_otherwise(attempt)
        if connection is None:
            capture.started_at, self.sent_at = before.started_at, sent_at
            if isinstance(first, Exception):
                raise first
            return first
        if capture.spooled is not None:
            capture.spooled.remove()
        capture.lost = lost
        capture.response_head = capture.payload = b""
        capture.spooled = capture.truncated = None
        exchange = await self._exchange_on(connection)
        if exchange.error is not None:
            self._fill(exchange)
            raise exchange.error
        network.protocols.note(origin, http2=http2 and not _wants_other(exchange))
        return exchange

    async def _connected_otherwise(self, attempt: Attempt) -> PageConnection | None:
        """Return a connection in the protocol that is offered, on which the request may be sent; None if there is
        none, for whatever reason: a request was sent, and its outcome must not be lost.
        """
        try:
            connection = await self.opened(partial(self.network.connect, self._target, self._proxy, attempt))
        except Exception as error:
            logger.debug("%s: no connection in another protocol: %s", self.request.url, error)
            return None
        try:
            self.check_may_send(self.request.url)
        except (DownloadCancelledError, Refused):
            connection.abandon()
            return None
        if connection.is_http2 != attempt.offers_http2:
            connection.abandon()
            return None
        return connection

    def _lost(self, first: Exchange | Exception) -> LostSending:
        """Return what became of the first sending of a request."""
        capture = self._capture
        if isinstance(first, Exception):
            ended_at = capture.started_at + monotonic() - self.sent_at
            return LostSending(capture.started_at, ended_at, capture.ip, failure_word(first))
        self._fill(first)
        answer = None if capture.spooled is not None else replace(capture)
        return LostSending(capture.started_at, capture.ended_at, capture.ip, None, answer, _status(first))

    async def _exchange_on(self, connection: PageConnection) -> Exchange:
        """Send on this connection and wait until the exchange has ended."""
        request, capture, fetch = self.request, self._capture, self._fetch
        self._connection = connection
        spool = None if fetch.spool is None else Spool(fetch.spool, connection.pause, connection.resume)
        listens = has_listeners(self._crawler.signals, signals.bytes_received)
        exchange = Exchange(
            asyncio.get_running_loop().create_future(),
            request.method,
            self._limit_after,
            self._on_head,
            self._on_payload if listens else None,
            self._on_growth,
            None if spool is None else spool.feed,
        )
        exchange.received = self._on_read
        self._exchange, self._spool = exchange, spool
        self.watch()
        capture.request_head = self._signed_head()
        capture.ip = connection.ip
        capture.protocol = capture.cipher_suite = None
        if connection.is_http2:
            capture.request_head = _CONNECTION.sub(b"", capture.request_head, count=1)
            capture.protocol, capture.cipher_suite = HTTP2, connection.cipher_suite
        sent_at = monotonic()
        if capture.lost is None:
            capture.started_at = time()
        else:
            # The wall clock may have been set meanwhile.
            capture.started_at += sent_at - self.sent_at
        self.sent_at = sent_at
        try:
            self.check_may_send(request.url)
            connection.send(exchange, self._target.scheme, capture.request_head, request.body)
            await exchange.done
        finally:
            self._end(exchange)
            self._certificate = connection.certificate
            keep = not _asks_to_close(request) and self.network.trusts(self._target)
            connection.release(exchange, keep=keep)
        if exchange.head is not None:
            await self._keep(exchange)
            request.meta["download_latency"] = exchange.head_at - sent_at
        return exchange

    def _signed_head(self) -> bytes:
        """Return the head with a new signature, if the crawl signs its requests. A request that is sent again gets
        another one. One that its spider has signed stays as it is.
        """
        request, target = self.request, self._target
        if self._signer is None or not _SIGNATURE_FIELDS.isdisjoint(request.headers):
            return self._head
        authority = (request.headers.get(b"Host") or b"").decode("latin-1")
        if not authority or not authority.isascii() or not authority.isprintable():
            authority = target.authority
        fields = self._signer.head_fields(request.method, target.scheme, authority, target.path, time())
        return self._head[: -len(_LINE_END)] + fields + _LINE_END

    def _raced_with_closing(self, connection: PageConnection, exchange: Exchange) -> bool:
        """Return True if the server had closed a kept connection when the request arrived, so the request had no
        effect.
        """
        request = self.request
        is_harmless = request.method in ("GET", "HEAD") and not request.body
        is_silent = exchange.silent and not isinstance(exchange.error, TimeoutError)
        return (
            connection.is_reused
            and is_harmless
            and is_silent
            and self._fetch.pause_seconds <= LONGEST_SECONDS
        )

    # -- while the response comes ----------------------------------------------------------------------------

    def expire(self, reason: Exception) -> None:
        """End the exchange."""
        self._exchange.expire()

    def pause(self) -> None:
        """Stop reading the connection."""
        self._connection.pause()

    def resume(self) -> None:
        """Read the connection on."""
        self._connection.resume()

    def most_bytes(self) -> int | None:
        """Return the most bytes that the body may need."""
        head = self._exchange.head
        assert head is not None
        limit = self._limit_after(head)
        if not limit:
            return None
        announced = max(announced_lengths(head), default=0) or limit
        return min(limit, announced) + self._unfolded(head)

    def _limit_after(self, head: ResponseHead) -> int:
        """Return the number of bytes to read of the payload after ``head``, 0 for all."""
        return self.text_limit if _may_have_links(head) else self.limit

    def _unfolded(self, head: ResponseHead) -> int:
        return self._limit_after(head) if head.value(b"content-encoding") else 0

    def _on_head(self, head: ResponseHead) -> str | None:
        """Return None, or the reason why the body is not read."""
        listens = has_listeners(self._crawler.signals, signals.headers_received)
        if listens and self._send_headers_received(head):
            return STOPPED
        content_type = None
        if self._fetch.wanted is not None and 200 <= head.status < 300:
            content_type = head.value(b"content-type")
        return self.refusal(
            None if content_type is None else content_type[:MAX_TYPE_BYTES],
            max(announced_lengths(head), default=0),
        )

    def _on_payload(self, data: bytes) -> bool:
        """Pass a piece on to the receivers of ``bytes_received``; return False to stop."""
        return not self._send_signal(signals.bytes_received, data=data)

    def _on_growth(self, head: ResponseHead, size: int) -> None:
        if self._spool is not None:
            self._account.resize(self._spool.size)
        else:
            self.grown(size)

    def _on_read(self, size: int) -> None:
        self.charge(size, waits=not self._exchange.done.done())

    def _send_headers_received(self, head: ResponseHead) -> bool:
        lengths = announced_lengths(head)
        return self._send_signal(
            signals.headers_received,
            headers=scrapy_headers(head),
            body_length=max(lengths) if lengths else None,
        )

    def _send_signal(self, signal: object, **facts: Any) -> bool:
        self._stop = check_stop_download(signal, self._crawler, self.request, **facts)
        return self._stop is not None

    # -- at its end ------------------------------------------------------------------------------------------

    def _end(self, exchange: Exchange) -> None:
        """End the reading. The exchange refers to its transfer: this breaks the reference cycle, in which the body
        and everything else would stay in memory until the garbage collector runs.
        """
        exchange.received = None
        self.end_watch()
        del self._exchange, self._connection
        account, spool = self._account, self._spool
        account.resize(len(exchange.payload) if spool is None else spool.size)
        account.trim(0 if exchange.head is None else self._unfolded(exchange.head))
        if spool is not None:
            spool.go_on()
            if exchange.head is None:
                spool.discard()

    async def _keep(self, exchange: Exchange) -> None:
        """Put the payload of an exchange that is over into the capture.

        Raises:
          StorageFull, StorageLost: it could not be written to its file.
        """
        capture, spool = self._capture, self._spool
        if spool is None:
            capture.payload = exchange.payload
            return
        with translated(Path(spool.folder)):
            capture.spooled = await spool.finish()
        capture.payload = spool.held
        self._account.resize(len(capture.payload))

    def _fill(self, exchange: Exchange) -> bytes:
        """Record the response in the capture, if its head is complete; return all bytes of the body that were
        read.
        """
        capture, payload = self._capture, self._capture.payload
        if exchange.head is not None:
            capture.ended_at = capture.started_at + exchange.ended_at - self.sent_at
            capture.response_head = exchange.head.raw
            capture.truncated = exchange.truncated
            if 0 < self.limit < len(payload):
                capture.payload, capture.truncated = payload[: self.limit], "length"
                self._account.resize(self._account.size + self.limit)
        return payload

    def _response(self, exchange: Exchange) -> Response:
        """Complete the capture and build Scrapy's Response."""
        head, capture = exchange.head, self._capture
        assert head is not None
        payload = self._fill(exchange)
        if exchange.refusal is not None:
            capture.truncated = "length" if exchange.refusal == ANNOUNCED_OVERSIZE else "unspecified"
        self._has_dataloss = exchange.truncated == "disconnect"
        return scrapy_response(
            head,
            self.request.url,
            scrapy_headers(head),
            payload,
            _flags(exchange),
            capture.ip,
            self._certificate,
        )


def _status(exchange: Exchange) -> int:
    assert exchange.head is not None
    return exchange.head.status


def _wants_other(exchange: Exchange) -> bool:
    return _status(exchange) in WANTING_STATUSES


def _refuses_http11(error: Exception) -> bool:
    """Return True if a server may have ended the connection since it does not speak HTTP/1.1."""
    if isinstance(error, aiohttp.ClientConnectorError):
        # The end of the handshake, with the alert for that or without one.
        cause = error.os_error
        return isinstance(cause, ConnectionResetError) or "no application protocol" in str(cause)
    return isinstance(error, EmptyResponseError | OtherProtocolError | ConnectionResetError)


def _may_have_links(head: ResponseHead) -> bool:
    """Return True if a body is HTML by its Content-Type, or may be HTML since it has none."""
    content_type = head.value(b"content-type")
    return 200 <= head.status < 300 and (content_type is None or _is_html(content_type[:MAX_TYPE_BYTES]))


@lru_cache(maxsize=1024)
def _is_html(content_type: bytes) -> bool:
    mime = mime_type(content_type.decode("latin-1"))
    return mime is None or mime in HTML_TYPES


def _flags(exchange: Exchange) -> list[str]:
    """Return the flags of ``Response.flags`` for a body that is not whole."""
    if exchange.refusal == STOPPED:
        return ["download_stopped"]
    if exchange.refusal is not None:
        return [f"cancelled:{exchange.refusal}"]
    if exchange.truncated == "disconnect":
        return ["truncated", "dataloss"]
    return ["truncated"] if exchange.truncated is not None else []


def _head(request: Request, target: Target, proxy: Proxy | None) -> bytes:
    """Return the request's head. A proxy gets the whole URL of an http request; https goes through a tunnel."""
    headers: Iterable[tuple[bytes, list[bytes]]] = dict.items(request.headers)
    if proxy is not None and target.scheme == "http":
        path = f"http://{target.authority}{target.path}"
    else:
        path = target.path
        headers = [field for field in headers if field[0] != b"Proxy-Authorization"]
    return request_head(request.method, path, target.authority, headers, len(request.body))


def _proxy(request: Request) -> Proxy | None:
    """Read ``Request.meta["proxy"]`` as Scrapy does: without a scheme it is an http proxy."""
    url = request.meta.get("proxy")
    if not url:
        return None
    if "://" not in url:
        url = f"http://{url.removeprefix('//')}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"not an http or https proxy: {url!r}")
    names = ("User-Agent", "Proxy-Authorization")
    headers = {name: (request.headers.get(name) or b"").decode("latin-1") for name in names}
    return Proxy(url, {name: value for name, value in headers.items() if value or name == "User-Agent"})


def _asks_to_close(request: Request) -> bool:
    return b"close" in (request.headers.get(b"Connection") or b"").lower()
