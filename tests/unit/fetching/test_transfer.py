"""What every fetch owes the crawl holds for each scheme alike: its limits, its memory, its time and its lease."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.fetching.lab import Client, Fetched, Peer, run, serving
from tests.unit.fetching.test_shortage import no_files
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.gopher import GopherDownloadHandler
from webcrawl.fetching.http import HttpDownloadHandler
from webcrawl.fetching.network import get_network
from webcrawl.storage.contract import LeaseValidity, uptime

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.fetching.lab import Behaviour
    from webcrawl.fetching.transfer import TransferHandler


@dataclass
class Scheme:
    """A scheme: its handler, the path of a document, and what its server sends before the body."""

    name: str
    handler: type[TransferHandler]
    paths: dict[str, str]
    """The path of a document of each type."""

    def head(self, mime: str) -> bytes:
        if self.name == "gopher":
            return b""
        return b"HTTP/1.0 200 OK\r\nContent-Type: %b\r\n\r\n" % mime.encode()

    def answer(self, body: bytes, mime: str = "text/plain") -> Behaviour:
        async def behave(peer: Peer) -> None:
            await peer.reader.readline()
            await peer.send(self.head(mime) + body)

        return behave


BINARY, HTML = "application/zip", "text/html"
SCHEMES = [
    Scheme("http", HttpDownloadHandler, {BINARY: "/", HTML: "/"}),
    Scheme("gopher", GopherDownloadHandler, {BINARY: "/9/x.zip", HTML: "/h/x"}),
]
schemes = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)


class Visit:
    """A server of a scheme, and a client that fetches from it."""

    def __init__(self, scheme: Scheme, behave: Behaviour, **settings: Any) -> None:
        self._scheme = scheme
        self._behave = behave
        self._settings = settings

    async def __aenter__(self) -> Visit:
        self._serving = serving(self._behave)
        self._site = await self._serving.__aenter__()
        self._site.scheme = self._scheme.name
        self.client = Client(**self._settings)
        self.client.handler = self._scheme.handler.from_crawler(self.client.crawler)  # type: ignore[assignment]
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.client.handler.close()
        await self._serving.__aexit__(*error)

    async def fetch(self, mime: str = BINARY, facts: dict[str, Any] | None = None, **more: Any) -> Fetched:
        """Fetch a document of that type."""
        return await self.client.fetch(self._site.url(self._scheme.paths[mime]), facts, **more)


def length(scheme: Scheme, body: bytes, mime: str = BINARY, **arguments: Any) -> int:
    """The length of what comes of a document."""
    settings = arguments.pop("settings", {})

    async def test() -> int:
        async with Visit(scheme, scheme.answer(body, mime), **settings) as visit:
            fetched = await visit.fetch(mime, **arguments)
            assert fetched.response is not None, fetched.error
            return len(fetched.response.body)

    result: int = run(test())
    return result


@schemes
def test_a_switch_that_sets_a_limit_sets_it_for_all_schemes(scheme: Scheme) -> None:
    settings = {"DOWNLOAD_MAXSIZE": 1 << 20, "ARCHIVE_COMPLETE_PAGES": True}
    assert length(scheme, b"x" * 1_500_000, settings=settings) == 1_500_000


@schemes
def test_the_limit_of_one_request_holds_for_documents_with_links_too(scheme: Scheme) -> None:
    settings = {"DOWNLOAD_MAXSIZE": 3000, "DOWNLOAD_TEXT_MAXSIZE": 5000}
    assert length(scheme, b"x" * 9000, HTML, settings=settings) == 5000
    assert length(scheme, b"x" * 9000, HTML, settings=settings, meta={"download_maxsize": 2000}) == 2000
    assert length(scheme, b"x" * 9000, HTML, settings=settings, facts={"maxsize": 2000}) == 2000
    assert length(scheme, b"x" * 9000, HTML, settings=settings, facts={"maxsize": 0}) == 9000


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that will become true."""
    while not condition():  # noqa: ASYNC110 - there is nobody to tell of it
        await asyncio.sleep(0.005)


SMALL = {"CONCURRENT_REQUESTS": 2, "BODY_MEMORY_BYTES": 40_000}
"""Each request has 10 kB for itself; 20 kB are for one that needs more."""


@schemes
def test_the_body_of_an_inline_request_waits_for_no_page(scheme: Scheme) -> None:
    async def test() -> None:
        async with Visit(scheme, scheme.answer(b"x" * 30_000), **SMALL) as visit:
            memory = get_body_memory(visit.client.crawler)
            memory.account().request(None, lambda: None)
            assert memory.free == 0
            fetched = await visit.fetch(facts={"kind": "inline", "lease_id": 1})
            assert fetched.response is not None, fetched.error
            assert len(fetched.response.body) == 30_000

    run(test(), within=10)


@schemes
def test_a_page_without_memory_gives_way_to_an_inline_request_for_its_key(scheme: Scheme) -> None:
    async def test() -> None:
        async with Visit(scheme, scheme.answer(b"x" * 90_000), **SMALL) as visit:
            memory = get_body_memory(visit.client.crawler)
            holder = memory.account()
            holder.request(None, lambda: None)
            is_wanted = False
            facts = {"lease_id": 1, "gives_way": lambda: is_wanted}
            fetching = asyncio.ensure_future(visit.fetch(facts=facts))
            await until(lambda: memory.waiting == 1)
            is_wanted = True
            fetched = await fetching
            assert (fetched.word, fetched.meta.gave_way) == ("cancelled", True)
            assert fetched.meta.capture is not None
            assert (fetched.meta.capture.payload, fetched.meta.capture.resource_type) == (b"", None)
            assert (memory.used, memory.waiting) == (0, 0)
            holder.release()
            assert memory.free == memory.pool

    run(test(), within=10)


@schemes
def test_a_body_that_waited_for_memory_comes_whole(scheme: Scheme) -> None:
    async def test() -> None:
        async with Visit(scheme, scheme.answer(b"x" * 90_000), **SMALL) as visit:
            memory = get_body_memory(visit.client.crawler)
            holder = memory.account()
            holder.request(None, lambda: None)
            fetching = asyncio.ensure_future(visit.fetch(facts={"lease_id": 1}))
            await until(lambda: memory.waiting == 1)
            holder.release()
            fetched = await fetching
            assert fetched.response is not None, fetched.error
            assert len(fetched.response.body) == 90_000
            assert fetched.meta.held_seconds > 0

    run(test(), within=10)


@schemes
def test_the_time_of_a_shortage_is_not_that_of_the_request(scheme: Scheme) -> None:
    async def test() -> None:
        async with Visit(scheme, scheme.answer(b"ok"), DOWNLOAD_TIMEOUT=0.5) as visit:
            get_network(visit.client.crawler)
            with no_files():
                fetching = asyncio.ensure_future(visit.fetch())
                # Longer than a request may take.
                await asyncio.sleep(0.7)
                assert not fetching.done()
            fetched = await fetching
            assert fetched.response is not None, fetched.error

    run(test())


@schemes
def test_a_body_that_comes_when_the_lease_ends_is_cut(scheme: Scheme) -> None:
    validity = LeaseValidity(uptime() + 0.5)

    async def begin(peer: Peer) -> None:
        await peer.reader.readline()
        await peer.send(scheme.head(BINARY) + b"begin")
        await peer.gone()

    async def test() -> None:
        async with Visit(scheme, begin) as visit:
            fetched = await visit.fetch(facts={"validity": validity})
            assert fetched.response is not None, fetched.error
            assert fetched.response.body == b"begin"
            assert fetched.meta.capture is not None
            assert fetched.meta.capture.truncated == "time"

    run(test())
    assert validity.is_over()
