"""The CPU time of a page, and of its fetch alone, over HTTP/2 and over HTTP/1.1 on https, on kept and on new
connections."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from tests.bench import switching
from tests.bench.crawls import ROUNDS, spread
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from tests.unit.fetching.lab import Client

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakeweb.process import Served

FETCHES = 200
"""Fetches of a round, one after another."""


class Course(NamedTuple):
    """The way in which the fetches of a measurement get their connections."""

    name: str
    kept: int
    """DOWNLOAD_IDLE_CONNECTIONS."""
    sessions: int
    """DOWNLOAD_TLS_SESSIONS."""


COURSES = (
    Course("kept connection", 16, 16),
    Course("new connection, resumed", 0, 16),
    Course("new connection, full handshake", 0, 0),
)
POLICIES = {"HTTP/1.1": "never", "HTTP/2": "offer"}


HOSTS = 200
"""Hosts of the crawls: all are in one certificate."""


def by_protocol(folder: Path, seconds: float) -> None:
    """Print the CPU time of fetches and of pages in both protocols, and their ratios."""
    _fetches()
    _pages(folder, seconds)


def _pages(folder: Path, seconds: float) -> None:
    """Print the CPU time of a page in the process of a crawl with all defaults."""
    print(
        f"A page of {HOSTS} hosts on https, all defaults, in one crawl that is switched after every 200 pages:"
    )
    for name, kept in (("kept connection", 1024), ("new connection, resumed", 0)):
        setting = f"DOWNLOAD_IDLE_CONNECTIONS={kept}"
        pair = switching.by_protocol(folder / name.replace(" ", "-"), seconds, HOSTS, setting)
        _tell(name, [[1000 * each for each in times] for times in pair])


def _fetches() -> None:
    """Print the CPU time of the client a fetch. Single fetches take turns: what else the machine does is the same for
    both."""
    config = Config(kind="bench", hosts=1, pages=20, tls=True, http2=("both",))
    print(f"A fetch of 29 kB alone, the client, {2 * ROUNDS + 1} rounds of {FETCHES} in each protocol:")
    with serve_in_process(config) as served:
        for course in COURSES:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found = runner.run(_measure(course, served))
            _tell(course.name, [found[protocol] for protocol in POLICIES])


def _tell(name: str, pair: list[list[float]]) -> None:
    ratios = [two / one for one, two in zip(*pair, strict=True)]
    times = ", ".join(
        f"{protocol} {spread(times, '{:.2f}')}" for protocol, times in zip(POLICIES, pair, strict=True)
    )
    print(f"  {name:32} CPU-ms: {times}; {spread(ratios, '{:.2f}')} times")


async def _measure(course: Course, served: Served) -> dict[str, list[float]]:
    """Return the CPU-ms of a fetch in this process in each protocol: the medians of rounds."""
    url = f"https://{served.site.hosts[0]}:{served.ports.https}/"
    settings = {"DOWNLOAD_IDLE_CONNECTIONS": course.kept, "DOWNLOAD_TLS_SESSIONS": course.sessions}
    found: dict[str, list[float]] = {protocol: [] for protocol in POLICIES}
    async with AsyncExitStack() as stack:
        clients = {
            protocol: await stack.enter_async_context(Client(**settings, DOWNLOAD_HTTP2=policy))
            for protocol, policy in POLICIES.items()
        }
        for number in range(2 * ROUNDS + 2):
            taken: dict[str, list[float]] = {protocol: [] for protocol in POLICIES}
            for _ in range(FETCHES):
                for protocol, client in clients.items():
                    began = time.process_time()
                    await _fetch(client, url, protocol)
                    taken[protocol].append(1000 * (time.process_time() - began))
            if number:  # the first round warms up
                for protocol, times in taken.items():
                    found[protocol].append(median(times))
    return found


async def _fetch(client: Client, url: str, protocol: str) -> None:
    fetched = await client.fetch(url)
    if fetched.response is None or fetched.response.status != 200:
        raise SystemExit(f"{url}: {fetched.error or fetched.response}")
    if (fetched.response.protocol == "h2") != (protocol == "HTTP/2"):
        raise SystemExit(f"{url}: fetched over {fetched.response.protocol}")
