"""The web of the promises: hosts with slow steady traffic, hosts for one experiment each, and the log of requests.

It runs in a thread of the judges, who change it while it is crawled: they announce links on the pages that are
fetched next, and give single URLs an answer of their own. All other URLs are small pages without links.
"""

from __future__ import annotations

import asyncio
import html
import threading
import time
from collections import defaultdict
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from tests.fakeweb.answer import Answer, Pause, http_answer
from tests.fakeweb.dns import NameServer, Zone
from tests.fakeweb.log import AccessLog, Hit
from tests.fakeweb.server import FakeWeb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.fakeweb.answer import Request
    from tests.fakeweb.connection import Site
    from tests.fakeweb.ports import Ports

STEADY = tuple(f"h{number}.steady.test" for number in range(10))
"""Hosts with more pages than a crawl fetches, all linked from their roots."""
STEADY_PAGES = 1500
ANSWER_SECONDS = 0.2
"""How long a page of a steady host takes."""
SECONDS = 120.0
"""How long an effect may take before it counts as none: on a busy machine, processes take half a minute to start."""


def page(links: Iterable[str], text: str = "") -> bytes:
    """Return a page with these links."""
    anchors = "".join(f'<p><a href="{html.escape(link)}">link</a></p>\n' for link in links)
    return f"<!DOCTYPE html><title>{html.escape(text)}</title><p>{html.escape(text)}</p>\n{anchors}".encode()


class PromiseSite:
    """A Site; see the top of this module."""

    def __init__(self) -> None:
        self.port = 0
        self.padding = 0
        """Bytes of text on each steady page."""
        self.robots: dict[str, str] = {}
        """The robots.txt of hosts that have one of their own."""
        self.robots_fields: dict[str, list[tuple[str, str]]] = {}
        """Header fields of the robots.txt of hosts."""
        self.answers: dict[tuple[str, str], Callable[[Request], Answer]] = {}
        """The answers of single paths of a host; the path "*" is all of them but robots.txt."""
        self._announced: dict[str, list[str]] = defaultdict(list)
        self._sizes: dict[str, int] = dict.fromkeys(STEADY, STEADY_PAGES)

    def bind(self, ports: Ports) -> None:
        """Keep the first port, that of all links."""
        self.port = self.port or ports.http

    def url(self, host: str, path: str = "/") -> str:
        """Return an absolute URL."""
        return f"http://{host}:{self.port}{path}"

    def put(self, host: str, path: str, links: Sequence[str], text: str = "") -> str:
        """Give a path a page with these links, and return its URL."""
        body = page(links, text or f"{host}{path}")
        self.answers[host, path] = lambda request: http_answer(200, body)
        return self.url(host, path)

    def drip(self, host: str, pages: int) -> str:
        """Make a host steady, with so many pages."""
        self._sizes[host] = pages
        return self.url(host)

    def announce(self, *urls: str, on: str = "") -> None:
        """Link to these URLs on all steady pages that are fetched from now on, or on those of one host."""
        self._announced[on] += urls

    def answer(self, request: Request) -> Answer:
        """Answer by what was put there, or with a small page."""
        host, path = request.host, request.path
        if path == "/robots.txt":
            text = self.robots.get(host, "User-agent: *\nDisallow:\n")
            return http_answer(200, text.encode(), self.robots_fields.get(host, ()), "text/plain")
        own = self.answers.get((host, path)) or self.answers.get((host, "*"))
        if own is not None:
            return own(request)
        if host in self._sizes:
            return self._steady(host, path)
        return http_answer(200, page([], f"{host}{path}"))

    def _steady(self, host: str, path: str) -> Answer:
        links = [*self._announced[""], *self._announced[host]]
        if path == "/":
            links += [f"/p/{number}" for number in range(self._sizes[host])]
        body = page(links, f"{host}{path}" + " more" * (self.padding // 5))
        return Answer(200, steps=iter([Pause(ANSWER_SECONDS), http_answer(200, body).wire]))


class Serving:
    """A web that is served by a thread while the block runs, on two ports, with its log and a name server."""

    def __init__(self, site: Site, suffixes: Sequence[str] = ("test", "example")) -> None:
        self.site = site
        self.log = AccessLog()
        self.port = 0
        self.other_port = 0
        self.nameserver = ""
        # The second name leads to the first address.
        self._zone = Zone(suffixes, names={"127.0.0.1": "crawler.test", "127.0.0.2": "forged.test"})
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    async def _open(self) -> None:
        self.port = (await self._stack.enter_async_context(FakeWeb(self.site, self.log))).port
        if hasattr(self.site, "announce"):
            self.other_port = (await self._stack.enter_async_context(FakeWeb(self.site, self.log))).port
        self.nameserver = f"127.0.0.1:{(await self._stack.enter_async_context(NameServer(self._zone))).port}"

    # -- the log -----------------------------------------------------------------------------------------------

    def hits(self, host: str = "", since: float = 0.0, path: str = "") -> list[Hit]:
        """Return the requests that were answered so far and had begun after ``since``, in the order of starts."""
        found = [
            hit
            for hit in list(self.log.hits)
            if hit.start > since and (not host or hit.host == host) and (not path or hit.path == path)
        ]
        return sorted(found, key=lambda hit: hit.start_mono)

    def has(self, url: str, since: float = 0.0) -> bool:
        """Return whether a URL was requested."""
        host, _, path = url.partition("://")[2].partition("/")
        return bool(self.hits(host.partition(":")[0], since, f"/{path}"))

    def pages(self, host: str = "", since: float = 0.0) -> list[Hit]:
        """Return the requests for anything but robots.txt."""
        return [hit for hit in self.hits(host, since) if not hit.is_robots]

    def gaps(self, hosts: Iterable[str] = STEADY, since: float = 0.0) -> list[float]:
        """Return the pauses of these hosts, from the end of a request after ``since`` to the next start."""
        found = []
        for host in hosts:
            hits = self.hits(host)
            found += [
                later.start_mono - earlier.end_mono
                for earlier, later in pairwise(hits)
                if earlier.end > since
            ]
        return found

    def most_open(self, since: float, until: float) -> int:
        """Return the most requests that were open at a time, of those that began in this time."""
        hits = [hit for hit in self.hits() if since < hit.start < until]
        changes = sorted([(hit.start_mono, 1) for hit in hits] + [(hit.end_mono, -1) for hit in hits])
        most = now = 0
        for _, change in changes:
            now += change
            most = max(most, now)
        return most


def until(what: Callable[[], object], seconds: float = SECONDS) -> bool:
    """Wait until something is true, and return whether it became true."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
