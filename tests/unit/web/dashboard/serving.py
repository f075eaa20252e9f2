"""A dashboard on loopback in this process, of a crawl that is made up, and clients that speak to it in bytes."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.web.access import Access
from webcrawl.web.connections import Connections, Listener
from webcrawl.web.dashboard.server import Dashboard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

TOKEN = "the-token"
SECONDS = 30.0
CHANGES = ("POST", "PUT", "DELETE", "PATCH")
NOBODY = {"Authorization": ""}
"""The headers of a reader without a token."""
HOSTILE = '</script><img src=x onerror="alert(1)">\ud800\x00\u202e'
"""A title from the web."""


class MadeUp:
    """A crawl whose state is what a test says."""

    name = spider = "broad"

    def __init__(self) -> None:
        self.reads = 0
        self.fails: Exception | None = None
        self.explained: list[str] = []
        self.suggested: list[tuple[str, str, str]] = []
        self.value: dict[str, Any] = {"name": HOSTILE, "state": "running", "rates": {"pages": float("nan")}}

    def state(self, *, public: bool) -> dict[str, Any]:
        self.reads += 1
        if self.fails is not None:
            raise self.fails
        return {**self.value, "public": public}

    def explanation(self, url: str, *, reads_logs: bool = True) -> dict[str, Any]:
        if self.fails is not None:
            raise self.fails
        self.explained.append(url)
        return {"url": {"written": url}, "conclusion": {"fate": "waits"}}

    def hosts(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        return {"total": 0, "as_of": None, "rows": []}

    def host(self, key: str) -> dict[str, Any] | None:
        return {"key": key} if key == "known.test" else None

    def close(self) -> None:
        """There is nothing to close."""

    def suggest(self, url: str, note: str, by: str) -> str:
        self.suggested.append((url, note, by))
        return "id"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    """The names in lower case."""
    body: bytes

    @property
    def told(self) -> Any:
        """The JSON that it says to be, in ASCII."""
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body.decode("ascii"))

    @property
    def error(self) -> str:
        found = self.told["error"]
        assert isinstance(found, str)
        return found


@dataclass(slots=True)
class Site:
    """A dashboard that listens."""

    port: int
    crawl: MadeUp
    dashboard: Dashboard
    connections: Connections
    open: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.open.append(writer)
        return reader, writer

    async def raw(self, request: bytes, *, is_head: bool = False) -> Answer:
        """Send bytes on a connection of their own and return the first answer."""
        reader, writer = await self.connect()
        writer.write(request)
        try:
            return await asyncio.wait_for(answer_from(reader, is_head=is_head), SECONDS)
        finally:
            writer.close()

    async def ask(
        self,
        method: str = "GET",
        path: str = "/api/v1/crawl",
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; one that reads has the token, unless ``headers`` say who asks. ``body``: bytes as they are,
        another value as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"Host": f"127.0.0.1:{self.port}", "Connection": "close"}
        if body is not None or method not in ("GET", "HEAD"):
            given |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        if method not in CHANGES and not {"Authorization", "Cookie"} & {*(headers or {})}:
            given["Authorization"] = f"Bearer {TOKEN}"
        lines = [f"{name}: {value}" for name, value in {**given, **(headers or {})}.items() if value]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("utf-8", "surrogatepass")
        return await self.raw(head + content, is_head=method == "HEAD")

    async def log_in(self, token: str = TOKEN) -> dict[str, str]:
        """Return the headers of a browser that has logged in, for changes."""
        origin = {"Origin": f"http://127.0.0.1:{self.port}"}
        answer = await self.ask("POST", "/api/v1/session", {"token": token}, origin)
        assert answer.status == 200
        cookie = answer.headers["set-cookie"].partition(";")[0]
        return {**origin, "Cookie": cookie, "X-CSRF-Token": answer.told["csrf"]}


async def answer_from(reader: asyncio.StreamReader, *, is_head: bool = False) -> Answer:
    """Read one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:]) if name}
    length = 0 if is_head else int(headers.get("content-length", "0"))
    return Answer(int(head[0].split()[1]), headers, await reader.readexactly(length))


@asynccontextmanager
async def serving(
    bound_to: str = "127.0.0.1", make: Callable[..., Any] | None = None, **options: Any
) -> AsyncIterator[Site]:
    """Serve a crawl that is made up. ``bound_to``: where the dashboard believes to listen."""
    crawl = MadeUp()
    token = None if options.get("public") else TOKEN
    dashboard = Dashboard(crawl, Access(bound_to, token, **options))  # type: ignore[arg-type]
    listener = Listener(make(dashboard) if make is not None else dashboard.application)
    await listener.start("127.0.0.1", 0)
    site = Site(listener.port, crawl, dashboard, listener.connections)
    try:
        yield site
    finally:
        for writer in site.open:
            writer.close()
        await listener.stop()
