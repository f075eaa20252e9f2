"""The dashboard of a crawl, served from a thread of this process."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from scrapy.settings import Settings

from webcrawl.web.dashboard.process import Listening, listen
from webcrawl.web.dashboard.source import CrawlSource

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A dashboard that listens, and its token."""

    port: int
    token: str
    source: CrawlSource

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, *, by: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Send a request to an endpoint with the token, or another one; return status and value."""
        data = None if body is None else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if by is None or by:
            given["Authorization"] = f"Bearer {self.token if by is None else by}"
        if data is not None:
            given["Content-Type"] = "application/json"
        request = Request(f"{self.base}/api/v1{path}", data, given, method=method)
        try:
            with urlopen(request, timeout=SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def get(self, path: str) -> Any:
        """The value of an endpoint that answers."""
        status, value = self.ask("GET", path)
        assert status == 200, value
        return value


@contextmanager
def serving(**settings: object) -> Iterator[Served]:
    """Serve the crawl that these settings name."""
    made = Settings()
    made.setmodule("webcrawl.settings", "project")
    for name, value in settings.items():
        made.set(name, value, "cmdline")
    source = CrawlSource(made, "broad")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        listening: Listening = asyncio.run_coroutine_threadsafe(listen(source, 0), loop).result(SECONDS)
        try:
            yield Served(listening.port, listening.token or "", source)
        finally:
            asyncio.run_coroutine_threadsafe(listening.stop(), loop).result(SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SECONDS)
        loop.close()
