"""A proxy on loopback through which a browser fetches, so that the rules of the crawl hold for all that it loads.

A browser resolves names, follows redirects and loads what a page embeds by itself. Whatever makes it do so, each of
its connections comes through here: private addresses are refused by the address that is connected to, excluded hosts
by name, and the bytes and the idle time of a connection are limited.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exceptions import CannotResolveHostError

from webcrawl.fetching.failures import LocalShortageError, PrivateAddressError
from webcrawl.fetching.network import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.fetching.network import Network

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
"""Time in which the browser must send the head of a request."""
HEAD_BYTES = 1 << 16
READ_BYTES = 1 << 16
TUNNEL_BODIES = 16
"""A tunnel carries many resources: it may receive so many times the size at which a body is cut."""
_OWN = frozenset((b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"upgrade"))
"""Heads that are for the proxy and not for the server."""


class BrowserProxy:
    """An HTTP proxy for one browser: CONNECT for https, and whole URLs for http."""

    def __init__(
        self, network: Network, objection: Callable[[str], str | None], *, maxsize: int, seconds: float
    ) -> None:
        """``objection``: returns why a URL must not be fetched now, or None; ``maxsize``: bytes at which a response
        is cut; ``seconds``: limit of a connection attempt, and of a connection without a byte received.
        """
        self._network = network
        self._objection = objection
        self._maxsize = maxsize
        self._seconds = seconds
        # A socket that is bound has its port before the event loop runs.
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused: dict[str, str] = {}
        """Hosts to which no connection was made, with the reason; the first thousand."""

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._serve, sock=self._socket, limit=HEAD_BYTES)

    async def close(self) -> None:
        """End all connections."""
        if self._server is None:
            self._socket.close()
            return
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # The browser's side of errors is its own matter.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                await self._request(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head[:-4].split(b"\r\n")
        method, target, _ = line.split(b" ", 2)
        is_tunnel = method == b"CONNECT"
        url = f"https://{target.decode('ascii')}/" if is_tunnel else target.decode("ascii")
        parts = urlsplit(url)
        if parts.hostname is None or parts.scheme != ("https" if is_tunnel else "http"):
            return
        length = 0 if is_tunnel else _length(fields)
        there = await self._connected(url, parts.hostname, parts.port or (443 if is_tunnel else 80))
        if there is None:
            # A response of the proxy would be taken for the server's.
            return
        far_reader, far_writer = there
        try:
            if is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                sending = asyncio.create_task(_pump(reader, far_writer))
                try:
                    await self._receive(far_reader, writer, TUNNEL_BODIES * self._maxsize)
                finally:
                    sending.cancel()
                    await asyncio.gather(sending, return_exceptions=True)
            else:
                path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
                kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in _OWN]
                first = b" ".join((method, path.encode("ascii"), b"HTTP/1.1"))
                far_writer.write(b"\r\n".join((first, *kept, b"Connection: close", b"", b"")))
                # One request only: the browser's next one may be for another server.
                far_writer.write(await reader.readexactly(length))
                await self._receive(far_reader, writer, self._maxsize)
        finally:
            far_writer.close()

    async def _connected(
        self, url: str, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Return a connection to a host; None if it is refused or cannot be made."""
        if (why := self._objection(url)) is not None:
            self._refuse(host, why)
            return None
        try:
            opened = await self._network.open_socket(host, port, Attempt(host), self._seconds)
        except PrivateAddressError as error:
            self._refuse(host, str(error))
            return None
        except (OSError, CannotResolveHostError, LocalShortageError) as error:
            logger.debug("No connection to %s for the browser: %s", host, error)
            return None
        return await asyncio.open_connection(sock=opened)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int) -> None:
        while most > 0:
            async with asyncio.timeout(self._seconds):
                data = await reader.read(min(READ_BYTES, most))
                if not data:
                    return
                writer.write(data)
                await writer.drain()
            most -= len(data)

    def _refuse(self, host: str, why: str) -> None:
        if host not in self.refused and len(self.refused) < 1000:
            self.refused[host] = why
            logger.info("The browser was not connected to %s: %s", host, why)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()


def _length(fields: list[bytes]) -> int:
    """Return the length of the body of a request. Raises ValueError if it is not announced as a number."""
    length = 0
    for field in fields:
        name, _, value = field.partition(b":")
        if name.strip().lower() == b"transfer-encoding":
            raise ValueError("a body without a length")
        if name.strip().lower() == b"content-length":
            length = int(value)
    return length
