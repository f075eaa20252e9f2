"""The child that answers for a process of a crawl, which sends it its figures every two seconds.

The crawl and this process exchange frames (``webcrawl/child_process.py``) on a socket::

    crawl                                                          child
    {"host": ..., "port": ..., "worker": ..., "version": ...} ->
                                                              <-   ("listening", port) or ("refused", sentence)
    {"begun_at": ..., "figures": {...}}, again and again      ->

When the crawl closes its end, or is killed, the child ends at once.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from webcrawl.child_process import frame, leave_signals_to_the_crawl, receive_from, socket_to_parent
from webcrawl.web.connections import Listener
from webcrawl.web.metrics import names
from webcrawl.web.metrics.exposition import CrawlMetrics, WorkerView, exposed

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

NICENESS = 10
SILENT_SECONDS = 30.0
"""A crawl that sent nothing for this long does not live, or its event loop is blocked."""
OF_CRAWL = tuple(figure for metric in names.OF_CRAWL for figure in metric.figures.values())


@dataclass(slots=True)
class Received:
    """The last message of the crawl."""

    worker: str
    version: str = ""
    clock: Callable[[], float] = time.monotonic
    """Seconds that never run backwards."""
    at: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    begun_at: float | None = None

    def take(self, sent: Mapping[str, Any]) -> None:
        self.at = self.clock()
        self.figures, self.begun_at = dict(sent["figures"]), sent["begun_at"]

    @property
    def age(self) -> float | None:
        return None if self.at is None else self.clock() - self.at

    def view(self) -> CrawlMetrics:
        """Return the view for ``/metrics``."""
        age = self.age
        if age is None or age > SILENT_SECONDS:
            return CrawlMetrics(is_up=False, version=self.version)
        of_crawl = {name: self.figures[name] for name in OF_CRAWL if name in self.figures}
        return CrawlMetrics(
            is_up=True,
            workers=[WorkerView(self.worker, self.figures, self.begun_at, round(age, 3))],
            crawl=of_crawl,
            version=self.version,
        )

    def unhealthy(self) -> str | None:
        """Return why the process does not live; None if it does."""
        age = self.age
        if age is None:
            return "the crawl has not sent its figures yet"
        return f"the crawl is silent for {age:.0f} s" if age > SILENT_SECONDS else None

    def unready(self) -> str | None:
        """Return why the crawl cannot work now; None if it can."""
        if (why := self.unhealthy()) is not None:
            return why
        return "the storage is full or cannot be reached" if self.figures.get("stalled") else None


def make_app(received: Received) -> web.Application:
    """Return the application."""

    async def metrics(request: web.Request) -> web.Response:
        body, content_type = exposed(received.view(), request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def healthz(request: web.Request) -> web.Response:
        return _state(received.unhealthy())

    async def readyz(request: web.Request) -> web.Response:
        return _state(received.unready())

    made = web.Application(client_max_size=1024)
    made.router.add_get("/metrics", metrics)
    made.router.add_get("/healthz", healthz)
    made.router.add_get("/readyz", readyz)
    return made


def _state(why: str | None) -> web.Response:
    return web.Response(status=200 if why is None else 503, text=f"{why or 'ok'}\n")


async def serve_beside(connection: socket.socket) -> None:
    """Answer for the crawl at the other end, until that ends."""
    reader, writer = await asyncio.open_connection(sock=connection)
    given = await receive_from(reader)
    received = Received(str(given["worker"]), str(given["version"]))
    listener = Listener(make_app(received))
    try:
        await listener.start(given["host"], given["port"])
    except OSError as error:
        sentence = f"cannot listen on {given['host']}:{given['port']}: {os.strerror(error.errno or 0)}"
        writer.write(frame(("refused", sentence)))
        await writer.drain()
        return
    writer.write(frame(("listening", listener.port)))
    while True:
        received.take(await receive_from(reader))


def main() -> None:
    leave_signals_to_the_crawl()
    os.nice(NICENESS)
    with suppress(EOFError, ConnectionError):
        asyncio.run(serve_beside(socket_to_parent()))
    os._exit(0)


if __name__ == "__main__":
    main()
