"""A fake web that runs in a thread of its own, for tests that talk to it through plain sockets."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from tests.fakeweb import AccessLog, FakeWeb, Site

Start = Callable[[Site], FakeWeb]


@contextlib.contextmanager
def _running(site: Site) -> Iterator[FakeWeb]:
    ready: Future[FakeWeb] = Future()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        async with FakeWeb(site, AccessLog()) as server:
            ready.set_result(server)
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        yield ready.result(10)
    finally:
        stop[0]()
        thread.join(10)


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Start any number of fake webs, each in a thread; they end with the module."""
    with contextlib.ExitStack() as stack:
        yield lambda site: stack.enter_context(_running(site))
