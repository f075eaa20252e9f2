"""The two seen tests in Redis: memory and CPU time of the server a URL, new or known, and how many new URLs a Bloom
filter takes for known."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.crawls import spread
from tests.bench.planning import about
from tests.bench.sizes import Web
from tests.redis_server import RedisServer
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.names import RedisOptions, ShardNames
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from webcrawl.frontier.records import UrlEntry

URLS, HOSTS = 100_000, 1_000
PAGES_AT_ONCE, LINKS = 50, 100
"""A commit has the links of so many pages, so many that are sent to the server."""
PARTS = 4
"""The URLs are queued in so many parts, each of which is measured."""
_TICKS = os.sysconf("SC_CLK_TCK")

CHOICES: dict[str, dict[str, Any]] = {
    "exact": {},
    "bloom, one filter": {"seen": "bloom", "seen_capacity": URLS * 11 // 10},
    "bloom, four filters": {"seen": "bloom", "seen_capacity": URLS // 10},
}


def seen_tests(folder: Path, seconds: float) -> None:
    """Print bytes of the seen test a URL, and CPU of Redis a URL that is queued, known or settled."""
    del seconds
    entries = list(Web(URLS, HOSTS).entries())
    for name, options in CHOICES.items():
        home = folder / name.replace(" ", "-").replace(",", "")
        home.mkdir(parents=True)
        with RedisServer(home) as server:
            if name == "exact":
                sys.stdout.write(f"seen: {URLS:,} URLs on {HOSTS:,} hosts; {about(server)}\n")
            asyncio.run(_measure(name, options, server, entries))


async def _measure(name: str, options: dict[str, Any], server: RedisServer, entries: list[UrlEntry]) -> None:
    backend = RedisBackend(
        {"url": server.url},
        RedisOptions(**options),
        {},
        lambda origin: get_host(f"{origin}/").removeprefix("www."),
        ServerClock(),
    )
    await backend.open(time.time())
    gc.disable()
    queued, size = 0, URLS // PARTS
    times: dict[str, list[float]] = {"new": [], "known": [], "settled": []}
    for first in range(0, URLS, size):
        part = entries[first : first + size]
        began = _cpu(server)
        queued += await _commit(backend, part)
        times["new"].append((_cpu(server) - began) * 1e6 / size)
    written = server.written_bytes / URLS
    taken = [entry for entry in entries if not entry.repeat]
    for first in range(0, URLS, size):
        part = entries[first : first + size]
        backend._writer.forget()
        began = _cpu(server)
        await _commit(backend, part)
        times["known"].append((_cpu(server) - began) * 1e6 / size)
    for first in range(0, URLS, size):
        part = taken[first : first + size]
        began = _cpu(server)
        for at in range(0, size, 500):
            done = [Settled(entry, UrlRecord(State.DONE, status=200)) for entry in part[at : at + 500]]
            await backend.commit(Batch(settled=done))
        times["settled"].append((_cpu(server) - began) * 1e6 / size)
    gc.enable()
    with server.client() as client:
        shards = [ShardNames("broad", number, has_filters=True) for number in range(2)]
        used = sum(
            client.memory_usage(key, samples=0) or 0
            for shard in shards
            for key in {shard.seen, *shard.of_seen_test[len(shard.fixed) :]}
        )
    sys.stdout.write(
        f"  {name:20} {used / URLS:5.2f} bytes a URL, {written:.0f} in the append-only file; Redis: "
        + ", ".join(f"{what} {spread(values, '{:.1f}')} us" for what, values in times.items())
        + f"; {URLS - queued} of {URLS:,} new URLs taken for known\n"
    )
    await backend.close()


async def _commit(backend: RedisBackend, entries: list[UrlEntry]) -> int:
    at_once = PAGES_AT_ONCE * LINKS
    queued = 0
    for first in range(0, len(entries), at_once):
        committed = await backend.commit(Batch(discovered=entries[first : first + at_once]))
        queued += len(committed.queued)
    return queued


def _cpu(server: RedisServer) -> float:
    """Seconds of CPU of the server so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
