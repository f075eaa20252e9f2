"""A raw server on loopback that plays one behaviour, and the handler that meets it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvloop
from scrapy import Request
from scrapy.utils.test import get_crawler

from webcrawl.fetching.failures import failure_word
from webcrawl.fetching.http import HttpDownloadHandler
from webcrawl.fetching.meta import FetchMeta, fetch_meta
from webcrawl.fetching.network import get_network, seed_addresses

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from scrapy.http import Response

    Behaviour = Callable[["Peer"], Awaitable[None]]

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def run(test: Coroutine[Any, Any, Any], loop: str = "uvloop", within: float = 60) -> Any:
    """Run a test to its end, at most so many seconds; nothing of it may be left over."""

    async def checked() -> Any:
        async with asyncio.timeout(within):
            result = await test
        for _ in range(50):
            left = asyncio.all_tasks() - {asyncio.current_task()}
            if not left:
                return result
            await asyncio.sleep(0.01)
        raise AssertionError(f"tasks left over: {left}")

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(checked())


@dataclass
class Peer:
    """The server's side of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int
    """Counts the server's connections from 1."""

    async def request(self) -> bytes:
        """The head of the next request; raises IncompleteReadError when the client has gone."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send each piece by itself."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause)

    def reset(self) -> None:
        """Cut the connection with RST."""
        self.writer.transport.abort()

    async def gone(self) -> bool:
        """Whether the client closes its side; it is waited for."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(60):
                while await self.reader.read(65536):
                    pass
        return True


@dataclass
class Site:
    """A running server and what it saw."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    scheme: str = "http"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """A URL of this server."""
        return f"{self.scheme}://{host}:{self.port}{path}"


@contextlib.asynccontextmanager
async def serving(
    behaviour: Behaviour, tls: ssl.SSLContext | None = None, also_at: Sequence[str] = ()
) -> AsyncIterator[Site]:
    """Serve: the behaviour is called for each connection, which is closed when it returns. ``also_at``: addresses at
    which the same port is served."""
    site = Site(scheme="https" if tls else "http")
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        site.connections += 1
        try:
            await behaviour(Peer(reader, writer, site.connections))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, TimeoutError):
            pass
        finally:
            running.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, OSError, asyncio.CancelledError):
                await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls, limit=2**20)
    site.port = server.sockets[0].getsockname()[1]
    more = [asyncio.start_server(connected, at, site.port, ssl=tls, limit=2**20) for at in also_at]
    servers = [server, *await asyncio.gather(*more)]
    try:
        yield site
    finally:
        for server in servers:
            server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for server in servers:
            await server.wait_closed()


def answering(*answers: bytes, close: bool = False, record: list[bytes] | None = None) -> Behaviour:
    """Answer each request of a connection with the next of the answers, the last one again and again."""

    async def behave(peer: Peer) -> None:
        turn = 0
        while True:
            head = await peer.request()
            if record is not None:
                record.append(head)
            await peer.send(answers[min(turn, len(answers) - 1)])
            turn += 1
            if close:
                return

    return behave


@dataclass
class Fetched:
    """What became of a request."""

    response: Response | None
    error: Exception | None
    meta: FetchMeta
    request: Request

    @property
    def word(self) -> str | None:
        """The failure word, None for a response."""
        return failure_word(self.error) if self.error is not None else None


class Client:
    """The handler, as Scrapy would drive it."""

    def __init__(self, **settings: Any) -> None:
        defaults = {"FETCH_PRIVATE_ADDRESSES": True, "DOWNLOAD_TIMEOUT": 5, "DOWNLOAD_MAXSIZE": 100_000}
        self.crawler = get_crawler(settings_dict={**defaults, **settings})
        self.handler = HttpDownloadHandler.from_crawler(self.crawler)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.handler.close()

    def seed(self, host: str) -> None:
        """Allow a host what the operator's seeds are allowed."""
        seed_addresses(self.crawler).rule.allow_seed(host)

    @property
    def idle_connections(self) -> int:
        """The number of connections that wait for another request to their host."""
        return len(get_network(self.crawler)._idle)

    async def fetch(self, url: str | Request, facts: dict[str, Any] | None = None, **kwargs: Any) -> Fetched:
        """Fetch; ``facts`` are fields of the FetchMeta."""
        request = Request(url, **kwargs) if isinstance(url, str) else url
        for name, value in (facts or {}).items():
            setattr(fetch_meta(request), name, value)
        try:
            response = await self.handler.download_request(request)
        except Exception as error:
            return Fetched(None, error, fetch_meta(request), request)
        return Fetched(response, None, fetch_meta(request), request)


def fetch_from(
    behaviour: Behaviour,
    path: str = "/",
    *,
    facts: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    loop: str = "uvloop",
    **kwargs: Any,
) -> Fetched:
    """One fetch from a server that behaves like that."""

    async def once() -> Fetched:
        async with serving(behaviour) as site, Client(**(settings or {})) as client:
            return await client.fetch(site.url(path), facts, **kwargs)

    fetched: Fetched = run(once(), loop)
    return fetched
