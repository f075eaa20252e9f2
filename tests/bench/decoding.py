"""The CPU time that it takes to decode the bodies of a web that looks like the real one, and how long one of them
holds the event loop: with the decoded size expected before, and with each body decoded on the loop until it turns out
to be too large for that."""

from __future__ import annotations

import asyncio
import gzip
import time
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import brotli
import uvloop
from scrapy import Request
from scrapy.http import Response

from tests.bench.crawls import ROUNDS, spread
from tests.fakeweb.ordinary import OrdinaryWeb
from webcrawl.downloadermiddlewares import decoding
from webcrawl.fetching.body_memory import BodyMemory
from webcrawl.fetching.decoding import expected_bytes
from webcrawl.fetching.meta import fetch_meta

if TYPE_CHECKING:
    from pathlib import Path

BODIES = 300
MEMORY_BYTES, REQUESTS = 256 << 20, 256
LIMIT, TEXT_LIMIT = 1 << 20, 8 << 20
"""The defaults of BODY_MEMORY_BYTES, CONCURRENT_REQUESTS, DOWNLOAD_MAXSIZE and DOWNLOAD_TEXT_MAXSIZE."""


class Used(NamedTuple):
    """CPU time of all bodies together, in seconds."""

    all_threads: float
    event_loop: float
    longest: float
    """Of the event loop for a single body, up to where it waits."""


def bodies_decoded(folder: Path, seconds: float) -> None:
    """Print both ways in turn."""
    del folder, seconds
    bodies = _bodies()
    decoded = sum(size for _, _, size in bodies)
    print(
        f"Decoding, {BODIES} bodies with a mean of {decoded / BODIES / 1000:.0f} kB, {3 * ROUNDS} rounds in turn:"
    )
    ways = {"tried on the loop": lambda payload, coding: 0, "expected before": expected_bytes}
    found: dict[str, list[Used]] = {name: [] for name in ways}
    for number in range(3 * ROUNDS):
        for name in list(ways)[:: -1 if number % 2 else 1]:
            decoding.expected_bytes = ways[name]
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found[name].append(runner.run(_decode(bodies)))
    decoding.expected_bytes = expected_bytes
    for name, runs in found.items():
        print(
            f"  {name:18} {spread([run.all_threads / BODIES * 1e6 for run in runs], '{:.0f}')} us of CPU a body, "
            f"{spread([run.event_loop / BODIES * 1e6 for run in runs], '{:.0f}')} on the loop, "
            f"{spread([run.longest * 1e3 for run in runs], '{:.1f}')} ms at most for one"
        )
    old, new = found.values()
    ratios = [
        spread([getattr(a, field) / getattr(b, field) for a, b in zip(old, new, strict=True)], "{:.2f}")
        for field in Used._fields
    ]
    print("  times as much when tried: {}, on the loop {}, longest {}".format(*ratios))
    wrong = mean(
        (expected_bytes(payload, coding) > LIMIT // 2) != (size > LIMIT // 2)
        for payload, coding, size in bodies
    )
    print(f"  on the wrong side of half a megabyte: {wrong:.1%} of the bodies")


def _bodies() -> list[tuple[bytes, str, int]]:
    """Return payloads with their codings and decoded sizes, br and gzip in turn."""
    web = OrdinaryWeb(hosts=BODIES)
    bodies = []
    for number in range(BODIES):
        body = web.body(number, 0)
        if number % 2:
            bodies.append((brotli.compress(body, quality=1), "br", len(body)))
        else:
            bodies.append((gzip.compress(body, 1, mtime=0), "gzip", len(body)))
    return bodies


async def _decode(bodies: list[tuple[bytes, str, int]]) -> Used:
    middleware = decoding.DecodingMiddleware.__new__(decoding.DecodingMiddleware)
    middleware._limit, middleware._text_limit = LIMIT, TEXT_LIMIT
    memory = BodyMemory(MEMORY_BYTES, REQUESTS)
    began, began_on_loop, longest = time.process_time(), time.thread_time(), 0.0
    for payload, coding, size in bodies:
        request = Request("http://a.test/")
        account = fetch_meta(request).account = memory.account()
        account.resize(len(payload))
        headers = {"Content-Encoding": coding, "Content-Type": "text/html"}
        response = Response(request.url, headers=headers, body=payload)
        at = time.thread_time()
        decoded = middleware.process_response(request, response)
        longest = max(longest, time.thread_time() - at)
        if not isinstance(decoded, Response):
            decoded = await decoded
        if len(decoded.body) != size:
            raise SystemExit(f"{len(decoded.body)} bytes in place of {size}")
        account.release()
    return Used(time.process_time() - began, time.thread_time() - began_on_loop, longest)
