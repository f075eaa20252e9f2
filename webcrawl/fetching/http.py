"""The download handler for http and https: it sends one request exactly as made, and returns the response.

The handler is called by Scrapy's downloader and uses the network. A page that is too long, too slow or cut off is not
lost: the bytes that came are kept and flagged. The bytes on the wire are recorded in ``FetchMeta.capture``, also if a
fetch failed. Redirects, cookies, retries and content codings are handled by other components.
"""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import DownloadCancelledError, ResponseDataLossError, UnsupportedURLSchemeError

from webcrawl.archive.capture import Capture, LostSending
from webcrawl.config import value_of
from webcrawl.fetching.bandwidth import bandwidth_of
from webcrawl.fetching.body_memory import body_memory_of
from webcrawl.fetching.connection import LONGEST_SECONDS
from webcrawl.fetching.exchange import Exchange
from webcrawl.fetching.failures import LocalShortageError, failure_word, translate
from webcrawl.fetching.meta import FetchMeta, begin_fetch
from webcrawl.fetching.network import Attempt, Proxy, close_network, network_of
from webcrawl.fetching.reading import ANNOUNCED_OVERSIZE, STOPPED, FlowControl, Gate, may_have_links
from webcrawl.fetching.request_head import Target, request_head, split_url
from webcrawl.fetching.scrapy_response import scrapy_headers, scrapy_response
from webcrawl.fetching.signals import has_listeners
from webcrawl.fetching.signing import signer_of
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused
from webcrawl.scope.exclusion import ExclusionRule
from webcrawl.storage.contract import LeaseValidity, uptime
from webcrawl.urls.politeness_key import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.ssl import Certificate

    from webcrawl.fetching.connection import PageConnection
    from webcrawl.fetching.network import Network
    from webcrawl.fetching.response_head import ResponseHead

SHORTAGE_PATIENCE_SECONDS = 20.0
"""Seconds that a request waits for a file or a port; then its URL goes back to its queue."""
ANNOUNCED_FACTOR = 10
"""The default of ``DOWNLOAD_ANNOUNCED_MAXSIZE`` as a multiple of DOWNLOAD_MAXSIZE: longer announced bodies are not
read.
"""

_SIGNATURE_FIELDS = frozenset((b"Signature", b"Signature-Input", b"Signature-Agent"))
_LINE_END = b"\r\n"


@dataclass(slots=True)
class _FetchTask:
    """A request that is being sent, with its destination and the facts known so far."""

    request: Request
    fetch: FetchMeta
    capture: Capture
    gate: Gate
    target: Target
    head: bytes
    proxy: Proxy | None
    limit: int
    """Bytes of a payload that are archived, 0 for all."""
    text_limit: int
    """Bytes that are read of a payload that may have links, 0 for all."""
    deadline: float
    """Monotonic seconds."""
    sent_at: float = 0.0
    """Monotonic seconds when it was last sent; 0 before."""
    certificate: Certificate | None = None
    """The server's certificate; None without TLS."""

    def limit_of(self, head: ResponseHead) -> int:
        """Return the number of bytes to read of the payload after ``head``, 0 for all."""
        return self.text_limit if may_have_links(head) else self.limit


class HttpDownloadHandler:
    """Scrapy's DownloadHandlerProtocol. Both schemes of a crawl share one ``Network``.

    Settings: DOWNLOAD_TIMEOUT (seconds for the whole request), DOWNLOAD_CONNECT_TIMEOUT (seconds, part of it),
    DOWNLOAD_MAXSIZE (bytes; a longer body is cut), DOWNLOAD_TEXT_MAXSIZE (bytes; HTML is read up to this limit for
    its links, but not archived beyond DOWNLOAD_MAXSIZE), DOWNLOAD_ANNOUNCED_MAXSIZE (bytes; a body that is announced
    longer is not read; 0 for no such limit), DOWNLOAD_IDLE_CONNECTIONS, and Scrapy's for TLS, DNS and the bind
    address. DOWNLOAD_FAIL_ON_DATALOSS counts only if a project or the command line sets it: bodies that end early are
    kept.
    """

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._bodies = body_memory_of(crawler)
        self._bandwidth = bandwidth_of(crawler)
        self._signer = signer_of(crawler)
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._maxsize = int(value_of(settings, "DOWNLOAD_MAXSIZE"))
        self._text_maxsize = max(self._maxsize, settings.getint("DOWNLOAD_TEXT_MAXSIZE"))
        announced = settings.get("DOWNLOAD_ANNOUNCED_MAXSIZE")
        self._announced_limit = self._maxsize * ANNOUNCED_FACTOR if announced is None else int(announced)
        self._fail_on_dataloss = bool(
            settings.getpriority("DOWNLOAD_FAIL_ON_DATALOSS")
            and settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the handler; called by Scrapy."""
        return cls(crawler)

    async def close(self) -> None:
        """Close all connections."""
        await close_network(self._crawler)

    async def download_request(self, request: Request) -> Response:
        """Fetch a request. Raises Scrapy's exceptions; ``failures.failure_word`` returns the word for each."""
        fetch = begin_fetch(request)
        now, since = time(), monotonic()
        capture = Capture(request.url, request.method, now, now, None, b"", request.body, b"", b"")
        fetch.capture = capture
        account = fetch.account = self._bodies.account(is_inline=fetch.kind in (Kind.INLINE, Kind.ROBOTS))
        fetch_task: _FetchTask | None = None
        try:
            fetch_task = self._fetch_task(request, fetch, capture)
            exchange = await self._fetch(fetch_task)
            if fetch.gave_way:
                capture.payload = b""
                raise DownloadCancelledError(
                    f"{request.url}: no memory for its body, and others wait for its host"
                )
        except Exception as error:
            account.release()
            # The wall clock may be set while a request is open.
            sent_at = since if fetch_task is None else fetch_task.sent_at or since
            capture.ended_at = capture.started_at + monotonic() - sent_at
            failure = translate(error, request.url)
            if failure is error:
                raise
            raise failure from error
        response = self._response(fetch_task, exchange)
        if fetch.lease_id is None:
            # There is no event that marks the end of such a request.
            weakref.finalize(response, account.release)
        return response

    def _fetch_task(self, request: Request, fetch: FetchMeta, capture: Capture) -> _FetchTask:
        meta = request.meta
        maxsize = meta.get("download_maxsize")
        if maxsize is None:
            maxsize = fetch.maxsize
        limit = self._maxsize if maxsize is None else int(maxsize)
        text_limit = self._text_maxsize if maxsize is None and limit else limit
        # A robots.txt is read up to its limit, however long it is announced.
        announced_limit = self._announced_limit if fetch.kind == Kind.PAGE else 0
        if fetch.kind == Kind.INLINE:
            # A part of a file is of no use.
            announced_limit = limit
        try:
            target = split_url(request.url)
            proxy = _proxy(request)
            head = _head(request, target, proxy)
        except ValueError as error:
            raise UnsupportedURLSchemeError(str(error)) from error
        return _FetchTask(
            request,
            fetch,
            capture,
            Gate(self._crawler, request, fetch.wanted, announced_limit),
            target,
            head,
            proxy,
            limit,
            text_limit,
            monotonic() + (meta.get("download_timeout") or self._timeout),
        )

    async def _fetch(self, fetch_task: _FetchTask) -> Exchange:
        """Send and receive; on another connection if an idle one turned out to be closed before the request was sent.

        A request is sent again only if it was sent on a kept connection that then ended without a byte of an answer:
        a server that closes an idle connection never saw the request (RFC 9112, section 9.3.1). That is done once,
        after the key's pause, on a new connection, and for GET and HEAD alone.
        """
        attempt = Attempt(fetch_task.target.host, place=fetch_task.fetch.place)
        network = network_of(self._crawler)
        while True:
            try:
                connection = await self._connect(fetch_task, network, attempt)
            except Exception:
                fetch_task.capture.ip = attempt.ip
                raise
            exchange = await self._exchange(fetch_task, network, connection)
            if exchange.error is None:
                return exchange
            if connection.sent or isinstance(exchange.error, TimeoutError):
                if (
                    attempt.fresh
                    or network.is_closed
                    or not _raced_with_closing(fetch_task, connection, exchange)
                ):
                    _fill(fetch_task, exchange)
                    raise exchange.error
                attempt.fresh = True
                capture = fetch_task.capture
                lost_at = capture.started_at + monotonic() - fetch_task.sent_at
                word = failure_word(exchange.error)
                capture.lost = LostSending(capture.started_at, lost_at, connection.ip, word)
                network.mistrust(fetch_task.target)
                # The server may have seen the request after all.
                await asyncio.sleep(fetch_task.fetch.pause_seconds)
                fetch_task.deadline += fetch_task.fetch.pause_seconds

    async def _connect(self, fetch_task: _FetchTask, network: Network, attempt: Attempt) -> PageConnection:
        """Connect. While this machine has no resources for a connection, wait without counting it towards the time of
        the request; raise LocalShortageError when that takes too long.
        """
        began = monotonic()
        while True:
            if network.shortage.left:
                await network.shortage.wait()
            waited = monotonic() - began
            try:
                seconds = max(0.001, fetch_task.deadline + waited - monotonic())
                connection = await network.connect(fetch_task.target, fetch_task.proxy, attempt, seconds)
            except LocalShortageError:
                if monotonic() - began > SHORTAGE_PATIENCE_SECONDS:
                    raise
            else:
                fetch_task.deadline += waited
                return connection

    async def _exchange(
        self, fetch_task: _FetchTask, network: Network, connection: PageConnection
    ) -> Exchange:
        """Send on this connection and wait until the exchange has ended."""
        request, capture, gate = fetch_task.request, fetch_task.capture, fetch_task.gate
        loop = asyncio.get_running_loop()
        listens = has_listeners(self._crawler.signals, signals.bytes_received)
        reading = FlowControl(
            fetch_task.fetch, fetch_task.limit_of, fetch_task.deadline, connection, self._bandwidth
        )
        exchange = Exchange(
            loop.create_future(),
            request.method,
            fetch_task.limit_of,
            gate.on_head,
            gate.on_payload if listens else None,
            reading.grown,
            None if reading.spool is None else reading.spool.feed,
        )
        reading.begin(exchange)
        watch = _Watch(fetch_task.fetch.validity, exchange)
        capture.request_head = self._signed(fetch_task)
        capture.ip = connection.ip
        sent_at = monotonic()
        if capture.lost is None:
            capture.started_at = time()
        else:
            # The wall clock may have been set meanwhile.
            capture.started_at += sent_at - fetch_task.sent_at
        fetch_task.sent_at = sent_at
        try:
            if fetch_task.fetch.validity.is_over():
                raise DownloadCancelledError(f"{request.url}: the lease of its key has ended")
            check_exclusions(fetch_task.fetch, request.url)
            connection.send(exchange, capture.request_head, request.body)
            watch.begin()
            await exchange.done
        finally:
            reading.end()
            watch.end()
            fetch_task.certificate = connection.certificate
            keep = not _asks_to_close(request) and network.trusts(fetch_task.target)
            connection.release(exchange, keep=keep)
        if exchange.head is not None:
            await reading.keep(exchange, capture)
            request.meta["download_latency"] = exchange.head_at - sent_at
        return exchange

    def _signed(self, fetch_task: _FetchTask) -> bytes:
        """Return the head with a new signature, if the crawl signs its requests. A request that is sent again gets
        another one. One that its spider has signed stays as it is.
        """
        request, target = fetch_task.request, fetch_task.target
        if self._signer is None or not _SIGNATURE_FIELDS.isdisjoint(request.headers):
            return fetch_task.head
        authority = (request.headers.get(b"Host") or target.authority.encode("ascii")).decode("latin-1")
        fields = self._signer.head_fields(request.method, target.scheme, authority, target.path, time())
        return fetch_task.head[: -len(_LINE_END)] + fields + _LINE_END

    def _response(self, fetch_task: _FetchTask, exchange: Exchange) -> Response:
        """Complete the capture and build Scrapy's Response."""
        head, capture = exchange.head, fetch_task.capture
        assert head is not None
        payload = _fill(fetch_task, exchange)
        if exchange.refusal is not None:
            capture.truncated = "length" if exchange.refusal == ANNOUNCED_OVERSIZE else "unspecified"
        response = scrapy_response(
            head,
            fetch_task.request.url,
            scrapy_headers(head),
            payload,
            _flags(exchange),
            capture.ip,
            fetch_task.certificate,
        )
        self._raise_for(fetch_task, exchange, response)
        return response

    def _raise_for(self, fetch_task: _FetchTask, exchange: Exchange, response: Response) -> None:
        """Raise for the two kinds of responses for which Scrapy expects an exception."""
        stop = fetch_task.gate.stop
        if stop is not None and stop.fail:
            stop.response = response
            raise stop
        if exchange.truncated == "disconnect" and fetch_task.request.meta.get(
            "download_fail_on_dataloss", self._fail_on_dataloss
        ):
            raise ResponseDataLossError(f"{fetch_task.request.url}: the connection was lost within the body")


def check_exclusions(fetch: FetchMeta, url: str) -> None:
    """Check the exclusions just before the request is sent: name, connection and TLS may have taken half a minute.

    Raises Refused.
    """
    exclusions = fetch.exclusions
    if exclusions is not None:
        detail, fetch.sent_under = exclusions.look(url, host_of(url))
        if detail is not None:
            raise Refused(ExclusionRule.name, f"{url} is covered by {detail} since a moment ago")


class _Watch:
    """Ends an exchange when the lease of its key expires: from then on another process may contact the host."""

    def __init__(self, validity: LeaseValidity, exchange: Exchange) -> None:
        self._validity = validity
        self._exchange = exchange
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        if self._validity.ends_at != inf:
            self._look()

    def _look(self) -> None:
        left = self._validity.ends_at - uptime()
        if left <= 0:
            self._exchange.expire()
        else:
            # The lease may have been renewed by then.
            self._timer = asyncio.get_running_loop().call_later(left, self._look)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _raced_with_closing(fetch_task: _FetchTask, connection: PageConnection, exchange: Exchange) -> bool:
    """Return True if the server had closed a kept connection when the request arrived, so the request had no
    effect.
    """
    request = fetch_task.request
    is_harmless = request.method in ("GET", "HEAD") and not request.body
    is_silent = exchange.silent and not isinstance(exchange.error, TimeoutError)
    return (
        connection.is_reused
        and is_harmless
        and is_silent
        and fetch_task.fetch.pause_seconds <= LONGEST_SECONDS
    )


def _fill(fetch_task: _FetchTask, exchange: Exchange) -> bytes:
    """Record the response in the capture, if its head is complete; return all bytes of the body that were read."""
    capture, payload = fetch_task.capture, fetch_task.capture.payload
    if exchange.head is not None:
        capture.ended_at = capture.started_at + exchange.ended_at - fetch_task.sent_at
        capture.response_head = exchange.head.raw
        capture.truncated = exchange.truncated
        if 0 < fetch_task.limit < len(payload):
            capture.payload, capture.truncated = payload[: fetch_task.limit], "length"
            if (account := fetch_task.fetch.account) is not None:
                account.resize(account.size + fetch_task.limit)
    return payload


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
