"""Bodies that come at the same time take no more memory than their budget; what has to wait loses nothing."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from tests.unit.fetching.lab import LOOPS, Client, Peer, answering, run, serving
from webcrawl.fetching.body_memory import get_body_memory

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = 1_000_000
MANY = 12
BUDGET = 2_000_000
"""Of which each has 83 KB for itself, so that one large body at a time comes beside them."""
SETTINGS = {"CONCURRENT_REQUESTS": MANY, "BODY_MEMORY_BYTES": BUDGET, "DOWNLOAD_MAXSIZE": 4 * LARGE}
LEASED = {"lease_id": 1}


async def until(what: Callable[[], bool]) -> None:
    """Wait for something that will become true."""
    while not what():  # noqa: ASYNC110 - there is nobody to tell of it
        await asyncio.sleep(0.005)


async def send(peer: Peer, body: bytes, go_on: asyncio.Event, first: int = 300_000) -> None:
    """Send a body of which the second part waits for a word."""
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
    at_once = 50_000
    for start in range(0, len(body), at_once):
        if start == first:
            await go_on.wait()
        await peer.send(body[start : start + at_once])


@pytest.mark.parametrize("loop", LOOPS)
def test_large_bodies_wait_for_each_other_and_small_ones_for_none(loop: str) -> None:
    async def test() -> None:
        go_on = asyncio.Event()
        small = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmall"

        async def behave(peer: Peer) -> None:
            while True:
                head = await peer.request()
                if b"/small" in head:
                    await peer.send(small)
                else:
                    await send(peer, b"x" * LARGE, go_on)

        async with serving(behave) as site, Client(**SETTINGS) as client:
            memory = get_body_memory(client.crawler)

            async def fetch(path: str) -> bytes:
                fetched = await client.fetch(site.url(path), LEASED)
                assert fetched.response is not None
                assert fetched.meta.capture is not None
                assert fetched.meta.capture.truncated is None
                assert fetched.meta.account is not None
                fetched.meta.account.release()
                return fetched.response.body

            large = [asyncio.create_task(fetch(f"/{number}")) for number in range(MANY - 1)]
            await until(lambda: memory.waiting == MANY - 2)
            assert [await fetch("/small") for _ in range(20)] == [b"small"] * 20
            assert not any(task.done() for task in large)
            go_on.set()
            assert set(map(len, await asyncio.gather(*large))) == {LARGE}
            # A read brings up to a quarter of a megabyte more than could be known.
            assert memory.peak < BUDGET + MANY * 250_000 < MANY * LARGE / 2
            assert (memory.used, memory.free, memory.waiting) == (0, memory.pool, 0)

    run(test(), loop, within=60)


@pytest.mark.slow
def test_the_time_in_which_a_body_could_not_be_read_is_nobodys_fault() -> None:
    async def test() -> None:
        go_on = asyncio.Event()
        go_on.set()

        async def behave(peer: Peer) -> None:
            await peer.request()
            await send(peer, b"x" * LARGE, go_on)

        async with serving(behave) as site, Client(**SETTINGS, DOWNLOAD_TIMEOUT=1.5) as client:
            memory = get_body_memory(client.crawler)
            holder = memory.account()
            holder.request(None, lambda: None)
            fetching = asyncio.create_task(client.fetch(site.url(), LEASED))
            await until(lambda: memory.waiting == 1)
            await asyncio.sleep(1.6)
            assert not fetching.done()
            holder.release()
            fetched = await fetching
            assert fetched.response is not None
            assert len(fetched.response.body) == LARGE
            assert fetched.meta.held_seconds >= 1.6

    run(test(), within=60)


def test_an_exchange_that_ends_while_it_waits_gives_everything_back() -> None:
    async def test() -> None:
        async def behave(peer: Peer) -> None:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE, b"x" * 300_000)
            await peer.gone()

        async with serving(behave) as site, Client(**SETTINGS) as client:
            memory = get_body_memory(client.crawler)
            holder = memory.account()
            holder.request(None, lambda: None)
            fetching = asyncio.create_task(client.fetch(site.url(), LEASED))
            await until(lambda: memory.waiting == 1)
            fetching.cancel()
            await asyncio.wait([fetching])
            holder.release()
            assert (memory.free, memory.waiting) == (memory.pool, 0)

    run(test())


def test_the_body_of_a_request_that_nobody_settles_is_counted_as_long_as_it_is_there() -> None:
    async def test() -> None:
        async def behave(peer: Peer) -> None:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmall")

        async with serving(behave) as site, Client(**SETTINGS) as client:
            memory = get_body_memory(client.crawler)
            fetched = await client.fetch(site.url())
            assert memory.used == 5
            del fetched
            gc.collect()
            assert memory.used == 0

    run(test())


@pytest.mark.parametrize("loop", LOOPS)
def test_what_was_needed_for_a_request_is_gone_with_it_and_needs_no_collector(loop: str) -> None:
    async def test() -> None:
        answer = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        async with serving(answer) as site, Client(**SETTINGS) as client:
            gc.collect()
            gc.disable()
            try:
                fetched = await client.fetch(site.url(), LEASED)
                assert fetched.response is not None
                request = weakref.ref(fetched.request)
                del fetched
                # What waited for the response is called once more.
                await asyncio.sleep(0.01)
                assert request() is None
            finally:
                gc.enable()

    run(test(), loop)
