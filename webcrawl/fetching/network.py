"""The connections of a crawl, opened, kept for the next request to the same host, and closed by aiohttp's connector.

The connector provides the pool, TLS, proxies and happy eyeballs (RFC 8305). HTTP itself is implemented here:
``PageProtocol`` passes the bytes to an ``Exchange``. aiohttp's own ClientSession is not used because it rewrites URLs
(an empty query is lost), repeats requests silently, and rejects pages that browsers show; see
docs/decisions/0002-http-client.md.

One ``Network`` serves both schemes of a crawl, so that a redirect from http to https resolves the host once.
"""

from __future__ import annotations

import asyncio
import functools
import resource
import socket
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import aiohappyeyeballs
import aiohttp
import yarl
from scrapy.exceptions import CannotResolveHostError

from webcrawl.fetching.addresses import (
    PinnedAddresses,
    PinnedResolver,
    SeedResolver,
    literal_address,
    pinned,
)
from webcrawl.fetching.bandwidth import Bandwidth, get_bandwidth
from webcrawl.fetching.connection import (
    HTTP2,
    HTTP11,
    LONGEST_SECONDS,
    PageConnection,
    PageProtocol,
    SlowLane,
)
from webcrawl.fetching.failures import LocalShortageError, PrivateAddressError
from webcrawl.fetching.private_addresses import SETTING, SeedAddresses, address_rule
from webcrawl.fetching.protocols import NEEDED, HostProtocols
from webcrawl.fetching.protocols import SETTING as HTTP2_SETTING
from webcrawl.fetching.resolver import Resolver
from webcrawl.fetching.shortage import Shortage, scarce
from webcrawl.fetching.tls_sessions import Route, get_tls_sessions, route
from webcrawl.politeness.shared_clocks import plain_address
from webcrawl.scrapy_private import tls_context

if TYPE_CHECKING:
    import ssl

    from aiohappyeyeballs import AddrInfoType
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from webcrawl.fetching.request_head import Origin, Target
    from webcrawl.fetching.tls_sessions import TlsSessions

MISTRUST_SECONDS = 600.0
"""Seconds during which no connections to an origin are kept after one of them was closed on a request."""
IDLE_CONNECTIONS = 1024
"""Default of ``DOWNLOAD_IDLE_CONNECTIONS``: the most connections that are kept, or half of the limit of open files if
that is less.
"""
CONNECT_TIMEOUT_SECONDS = 30.0
"""Default of ``DOWNLOAD_CONNECT_TIMEOUT`` in seconds: for name, connection and TLS together."""

HAPPY_EYEBALLS_SECONDS = 0.25
"""Seconds during which the first address of a host is tried alone (RFC 8305, section 5); as aiohttp does."""

_LEGACY_SERVER_CONNECT = 0x4
"""OpenSSL's SSL_OP_LEGACY_SERVER_CONNECT; the ssl module names it from Python 3.12 on."""


@dataclass(slots=True, frozen=True)
class Proxy:
    """A proxy and the headers of the request for a tunnel."""

    url: str
    headers: dict[str, str]

    @property
    def identity(self) -> str:
        """The proxy and the credentials that it is sent."""
        return f"{self.url} {self.headers.get('Proxy-Authorization', '')}"


ORIGINS_REMEMBERED = 4_096
"""The number of origins whose connection request for aiohttp is cached, in some 5 MB; and of those whose connections
are not kept.
"""


@dataclass(slots=True)
class Attempt:
    """The course of opening a connection, also if it failed."""

    host: str
    checked: bool = True
    """True if private addresses are refused (not for a proxy, which the operator chose)."""
    place: str | None = None
    """The only address at which the host may be contacted; empty for none, None for any."""
    ip: str | None = None
    """The last address tried."""
    objection: str | None = None
    """The reason why an address was not tried."""
    tried: list[AddrInfoType] = field(default_factory=list)
    """The addresses tried."""
    fresh: bool = False
    """True if a pooled connection must not be used."""
    offers_http2: bool = False
    """True if the server may choose HTTP/2."""
    opened_at: float = 0.0
    """Monotonic seconds when the first socket was made; 0 if none was."""


_attempt: ContextVar[Attempt] = ContextVar("webcrawl_attempt")
"""Passes the attempt to the place where its sockets are made; tasks started on the way inherit it."""


class Network:
    """The connections of one crawl. Must be created while the event loop runs, and closed."""

    def __init__(
        self,
        settings: BaseSettings,
        seeds: SeedAddresses,
        bandwidth: Bandwidth,
        tls_sessions: TlsSessions,
    ) -> None:
        self._bandwidth = bandwidth
        self._rule = rule = seeds.rule
        self.shortage = Shortage()
        self._idle: set[PageProtocol] = set()
        self._mistrusted: OrderedDict[Origin, float] = OrderedDict()
        self._max_idle = min(
            settings.getint("DOWNLOAD_IDLE_CONNECTIONS", IDLE_CONNECTIONS), _half_of_open_files()
        )
        self._connect_timeout = settings.getfloat("DOWNLOAD_CONNECT_TIMEOUT", CONNECT_TIMEOUT_SECONDS)
        self._loop = asyncio.get_running_loop()
        self._tls, self._http2_tls = _tls_context(settings), _tls_context(settings)
        self._http2_tls.set_alpn_protocols([HTTP2, HTTP11])
        self.protocols = HostProtocols(settings.get(HTTP2_SETTING, NEEDED))
        self.tls_sessions = tls_sessions
        tls_sessions.serve(self._tls, self._http2_tls)
        resolver = Resolver(
            settings.getlist("DNS_NAMESERVERS"),
            timeout_seconds=settings.getfloat("DNS_TIMEOUT", 60.0),
            cache_size=settings.getint("DNSCACHE_SIZE", 10_000),
        )
        self.names = resolver
        self._resolver = SeedResolver(resolver, seeds)
        self.places = PinnedAddresses(self._resolver, rule, self.shortage)
        self._connector = aiohttp.TCPConnector(
            resolver=PinnedResolver(self._resolver),
            use_dns_cache=False,
            limit=0,
            # Each connection has its own idle time and closes itself: see ``keep``.
            keepalive_timeout=2 * LONGEST_SECONDS,
            local_addr=_bind_address(settings.get("DOWNLOAD_BIND_ADDRESS")),
            socket_factory=self._open_socket,
        )
        self._local_address = _bind_address(settings.get("DOWNLOAD_BIND_ADDRESS"))
        self._settings = settings
        self._asked = functools.lru_cache(ORIGINS_REMEMBERED)(self._connection_request)
        # The one private name of aiohttp that is used; tests/unit/fetching/test_canary.py watches it.
        self._connector._factory = cast(
            "functools.partial[ResponseHandler]",
            functools.partial(PageProtocol, self._loop, self._idle, SlowLane(self._loop), bandwidth),
        )

    async def connect(
        self, target: Target, proxy: Proxy | None, attempt: Attempt, seconds: float
    ) -> PageConnection:
        """Return a connection to the target's host, from the pool or new, within that many seconds.

        ``attempt`` is filled in on the way. Raises PrivateAddressError, LocalShortageError, or aiohttp's exceptions.
        """
        attempt.checked = proxy is None
        if proxy is not None:
            self._check_literal(target.host)
        _attempt.set(attempt)
        is_tls, via = target.scheme == "https", "" if proxy is None else proxy.identity
        offered = self._http2_tls if attempt.offers_http2 else self._tls
        route.set(Route(self.tls_sessions, target.port, via, attempt.offers_http2) if is_tls else None)
        if self._connect_timeout:
            seconds = min(seconds, self._connect_timeout)
        request = (
            self._asked(target.scheme, target.host, target.port, offered)
            if proxy is None
            else self._connection_request(target.scheme, target.host, target.port, offered, proxy)
        )
        place = attempt.place if proxy is None else None
        pinned.set(place or None)
        attempt.tried.clear()
        try:
            return await self._connect(request, place, aiohttp.ClientTimeout(connect=seconds))
        except (aiohttp.ClientConnectorError, TimeoutError) as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                self._look_for_shortage(error.os_error, attempt)
            if attempt.objection and not attempt.tried:
                raise PrivateAddressError(f"{target.host}: {attempt.objection} ({SETTING})") from error
            if place:
                self.places.unreachable(target.host, place)
            raise

    async def open_socket(self, host: str, port: int, attempt: Attempt, seconds: float) -> socket.socket:
        """Return a new socket that is connected to a port of the host within that many seconds, for a protocol other
        than HTTP.

        ``attempt`` is filled in on the way. Raises PrivateAddressError, LocalShortageError, CannotResolveHostError,
        OSError.
        """
        _attempt.set(attempt)
        if self._connect_timeout:
            seconds = min(seconds, self._connect_timeout)
        attempt.tried.clear()
        try:
            async with asyncio.timeout(seconds):
                return await self._open(host, port, attempt)
        except OSError as error:
            if not isinstance(error, TimeoutError):
                self._look_for_shortage(error, attempt)
            if attempt.objection and not attempt.tried:
                raise PrivateAddressError(f"{host}: {attempt.objection} ({SETTING})") from error
            if attempt.place:
                self.places.unreachable(host, attempt.place)
            raise

    async def _open(self, host: str, port: int, attempt: Attempt) -> socket.socket:
        address = attempt.place or literal_address(host)
        if attempt.place == "":
            raise CannotResolveHostError(f"{host} had no address a moment ago")
        if address is not None:
            found: list[tuple[str, int]] = [(address, socket.AF_INET6 if ":" in address else socket.AF_INET)]
        else:
            try:
                found = [(one["host"], one["family"]) for one in await self._resolver.resolve(host, port)]
            except OSError as error:
                if error.errno is not None:
                    raise
                raise CannotResolveHostError(str(error.strerror)) from error
        local = self._local_address
        opened = await aiohappyeyeballs.start_connection(
            [
                (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", _socket_address(ip, port, family))
                for ip, family in found
            ],
            local_addr_infos=None
            if local is None
            else [
                (
                    socket.AF_INET6 if ":" in local[0] else socket.AF_INET,
                    socket.SOCK_STREAM,
                    socket.IPPROTO_TCP,
                    "",
                    local,
                )
            ],
            happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS,
            interleave=1,
            loop=self._loop,
            socket_factory=self._open_socket,
        )
        self.shortage.opened()
        return opened

    @functools.cached_property
    def tls(self) -> ssl.SSLContext:
        """The TLS context of protocols other than HTTP: the same policy for certificates, without ALPN."""
        return tls_context(self._settings)

    async def _connect(
        self, request: aiohttp.ClientRequest, place: str | None, within: aiohttp.ClientTimeout
    ) -> PageConnection:
        attempt = _attempt.get()
        while True:
            attempt.opened_at = 0.0
            connection = PageConnection(self, await self._connector.connect(request, [], within))
            if attempt.opened_at:
                self.shortage.opened()
                connection.opened_in(monotonic() - attempt.opened_at)
            if connection.is_reused and (attempt.fresh or not connection.is_usable):
                connection.abandon()
                continue
            if place is None or plain_address(connection.ip or "") == place:
                return connection
            # A pooled connection to another address of the host: the politeness clock of that address does not apply
            # now.
            connection.abandon()
            if not place:
                raise CannotResolveHostError(f"{request.url.host} had no address a moment ago")

    def keep(self, connection: Connection, protocol: PageProtocol, seconds: float) -> None:
        """Return a connection to the pool for so many seconds if there is room, else close it."""
        if seconds <= 0 or len(self._idle) >= self._max_idle:
            connection.close()
            return
        connection.release()
        if protocol.is_connected():
            protocol.rest(seconds)

    def _look_for_shortage(self, error: OSError, attempt: Attempt) -> None:
        """Raise LocalShortageError if the failure is due to the resources of this machine."""
        number = scarce(error, attempt.tried)
        if number is None:
            return
        self.shortage.note(number)
        for protocol in list(self._idle):
            protocol.close()
        raise LocalShortageError(f"{attempt.host}: {error}") from error

    def mistrust(self, target: Target) -> None:
        """Keep no connections to this origin for a while: a kept one was closed when a request was under way."""
        origin = target.origin
        self._mistrusted[origin] = monotonic() + MISTRUST_SECONDS
        self._mistrusted.move_to_end(origin)
        if len(self._mistrusted) > ORIGINS_REMEMBERED:
            self._mistrusted.popitem(last=False)

    def trusts(self, target: Target) -> bool:
        """Return True if connections to this origin may be kept."""
        if not self._mistrusted:
            return True
        until = self._mistrusted.get(target.origin)
        return until is None or monotonic() >= until

    @property
    def idle(self) -> int:
        """The number of open connections that wait for another request."""
        return len(self._idle)

    @property
    def idle_max(self) -> float:
        """The largest number of them."""
        return self._max_idle

    @property
    def is_closed(self) -> bool:
        """True if the crawl has ended, and all connections are closed."""
        return self._connector.closed

    async def close(self) -> None:
        """Close all connections."""
        await self._connector.close()
        await self._resolver.close()

    def _connection_request(
        self, scheme: str, host: str, port: int, tls: ssl.SSLContext, proxy: Proxy | None = None
    ) -> aiohttp.ClientRequest:
        """Return the request by which aiohttp's connector knows the destination; only a CONNECT to a proxy is ever
        sent.
        """
        extra: dict[str, Any] = {}
        if proxy is not None:
            extra = {"proxy": yarl.URL(proxy.url), "proxy_headers": proxy.headers}
        url = yarl.URL(f"{scheme}://{host}:{port}/", encoded=True)
        return aiohttp.ClientRequest("GET", url, loop=self._loop, ssl=tls, **extra)

    def _check_literal(self, host: str) -> None:
        """Check an address in the URL itself, for requests through a proxy: names are resolved by the proxy."""
        address = literal_address(host)
        objection = self._rule.refuses_address(host, address) if address else None
        if objection is not None:
            raise PrivateAddressError(f"{host}: {objection} ({SETTING})")

    def _open_socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        attempt = _attempt.get()
        attempt.ip = str(address[0])
        if attempt.checked:
            objection = self._rule.refuses_address(attempt.host, attempt.ip.partition("%")[0])
            if objection is not None:
                attempt.objection = objection
                raise PermissionError(objection)
        attempt.tried.append(info)
        if not attempt.opened_at:
            attempt.opened_at = monotonic()
        opened = socket.socket(family, kind, protocol)
        if (buffer_bytes := self._bandwidth.buffer_bytes) is not None:
            # What it holds has left the server, whatever is read.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        return opened


_seeds: WeakKeyDictionary[Crawler, SeedAddresses] = WeakKeyDictionary()
_networks: WeakKeyDictionary[Crawler, Network] = WeakKeyDictionary()


def seed_addresses(crawler: Crawler) -> SeedAddresses:
    """Return the addresses of seeds, with the crawl's rule for private addresses; exists before the first request.

    Raises ValueError for a wrong FETCH_PRIVATE_ADDRESSES.
    """
    seeds = _seeds.get(crawler)
    if seeds is None:
        seeds = _seeds[crawler] = SeedAddresses(address_rule(crawler.settings.get(SETTING)))
    return seeds


def get_network(crawler: Crawler) -> Network:
    """Return the crawl's connections, which the first call creates."""
    network = _networks.get(crawler)
    if network is None:
        network = _networks[crawler] = Network(
            crawler.settings, seed_addresses(crawler), get_bandwidth(crawler), get_tls_sessions(crawler)
        )
    return network


async def close_network(crawler: Crawler) -> None:
    """Close the crawl's connections; a second call does nothing."""
    network = _networks.pop(crawler, None)
    if network is not None:
        await network.close()


def _socket_address(ip: str, port: int, family: int) -> tuple[str, int] | tuple[str, int, int, int]:
    if family == socket.AF_INET6:
        # A zone is resolved by the system when the socket is connected.
        return (ip, port, 0, 0)
    return (ip, port)


def _tls_context(settings: BaseSettings) -> ssl.SSLContext:
    """Return a TLS context with Scrapy's settings and, as in browsers, HTTP/1.1 in ALPN and legacy renegotiation."""
    context = tls_context(settings)
    context.set_alpn_protocols([HTTP11])
    context.options |= _LEGACY_SERVER_CONNECT
    return context


def _half_of_open_files() -> float:
    """Return how many connections may be idle so that enough files and sockets are left for the rest of the crawl."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return inf if most == resource.RLIM_INFINITY else most // 2


def _bind_address(value: object) -> tuple[str, int] | None:
    if not value:
        return None
    if isinstance(value, str):
        return value, 0
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return str(value[0]), int(value[1])
    raise ValueError(f"DOWNLOAD_BIND_ADDRESS: {value!r} is neither an address nor a pair of address and port")
