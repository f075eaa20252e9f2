"""The server: listens on loopback, and hands every connection a Site to answer from and a log to tell."""

from __future__ import annotations

import asyncio
import itertools
import socket
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from tests.fakeweb.connection import NEAR, Connection, Line, Site
from tests.fakeweb.ports import Ports

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from tests.fakeweb.log import AccessLog

_BACKLOG = 4096


class FakeWeb:
    """Serves a Site on loopback while the ``async with`` block runs; ``ports`` are known inside it.

    ``addresses`` are bound one socket each, all on the same port, so that no other interface can reach it.
    With ``tls`` a second listener speaks TLS, at an address in ``tls_at`` by that context. ``others`` are ports that
    the Site shall know of beside these. ``http2``: whether TLS may agree on HTTP/2.
    """

    def __init__(
        self,
        site: Site,
        log: AccessLog | None = None,
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        tls_at: Mapping[str, ssl.SSLContext] | None = None,
        addresses: Sequence[str] = ("127.0.0.1",),
        others: Ports | None = None,
        line: Line = NEAR,
        http2: bool = False,
    ) -> None:
        self.site = site
        self.log = log
        self.ports = others or Ports()
        self._line = line
        self._has_http2 = http2
        self._wanted_port = port
        self._tls = tls
        self._tls_at = tls_at or {}
        self._addresses = addresses
        self._servers: list[asyncio.Server] = []
        self._ids = itertools.count(1)
        self.connections: set[Any] = set()

    @property
    def port(self) -> int:
        """The port that speaks http."""
        return self.ports.http

    async def __aenter__(self) -> Self:
        http = await self._listen(self._wanted_port, None)
        https = await self._listen(0, self._tls) if self._tls is not None else None
        self.ports = replace(self.ports, http=http, https=https)
        self.site.bind(self.ports)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.stop()
        for server in self._servers:
            await server.wait_closed()
        await asyncio.sleep(0)

    async def _listen(self, port: int, tls: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        scheme = "http" if tls is None else "https"
        for address in self._addresses:
            listener = socket.create_server((address, port), backlog=_BACKLOG)
            port = int(listener.getsockname()[1])
            server = await loop.create_server(
                partial(self._protocol, scheme),
                sock=listener,
                ssl=tls and self._tls_at.get(address, tls),
                backlog=_BACKLOG,
            )
            self._servers.append(server)
        return port

    def _protocol(self, scheme: str) -> asyncio.Protocol:
        """Return what serves a new connection."""
        number = next(self._ids)
        http11 = partial(Connection, self.site, self.log, self.connections, scheme, number, self._line)
        if scheme == "http" or not self._has_http2:
            return http11()
        from tests.fakeweb.http2 import ByProtocol, Http2Server

        return ByProtocol(http11, partial(Http2Server, self.site, self.log, self.connections, number))


__all__ = ["FakeWeb", "Site"]
