"""The CPU time of a fetch over a kept connection, after a full TLS handshake, and after a resumed one."""

from __future__ import annotations

import asyncio
import sys
import time
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from tests.bench.crawls import ROUNDS, spread
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from tests.unit.fetching.lab import Client
from webcrawl.fetching.network import get_network
from webcrawl.fetching.tls_sessions import TlsPeer, TlsSessions

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakeweb.process import Served

FETCHES = 400
"""Fetches of one measurement, one after another."""
WARM_UP = 40


class Course(NamedTuple):
    """The way in which the fetches of a measurement get their connections."""

    name: str
    scheme: str = "https"
    kept: int = 0
    """DOWNLOAD_IDLE_CONNECTIONS."""
    sessions: int = 0
    """DOWNLOAD_TLS_SESSIONS."""
    forgets: bool = False
    """True if the session that a fetch left is not used for the next one."""


COURSES = (
    Course("kept http connection", scheme="http", kept=16),
    Course("new http connection", scheme="http"),
    Course("kept https connection", kept=16),
    Course("full handshake", sessions=0),
    Course("full handshake, session kept", sessions=16, forgets=True),
    Course("resumed", sessions=16),
)


def fetches_by_handshake(folder: Path, seconds: float) -> None:
    """Print the CPU time of the client and of the server a fetch: medians of rounds in turn, and ranges."""
    del folder, seconds
    config = Config(kind="bench", hosts=1, pages=20, tls=True)
    found: dict[str, list[tuple[float, float]]] = {course.name: [] for course in COURSES}
    with serve_in_process(config) as served:
        for number in range(2 * ROUNDS + 1):
            for course in COURSES[:: -1 if number % 2 else 1]:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    found[course.name].append(runner.run(_measure(course, served)))
    sys.stdout.write(
        f"handshakes: CPU-ms a fetch of 29 kB, medians of {2 * ROUNDS + 1} rounds of {FETCHES}\n"
    )
    for name, times in found.items():
        client, server = zip(*times, strict=True)
        sys.stdout.write(
            f"  {name:30} client {spread(client, '{:.2f}')}, server {spread(server, '{:.2f}')}\n"
        )


async def _measure(course: Course, served: Served) -> tuple[float, float]:
    """Return the CPU-ms of a fetch, of this process and of the server."""
    host = served.site.hosts[0]
    port = served.ports.http if course.scheme == "http" else served.ports.https
    url = f"{course.scheme}://{host}:{port}/"
    settings = {
        "DOWNLOAD_IDLE_CONNECTIONS": course.kept,
        "DOWNLOAD_TLS_SESSIONS": course.sessions,
    }
    async with Client(**settings) as client:
        sessions = get_network(client.crawler).tls_sessions
        peer = TlsPeer(host, port or 0)
        for _ in range(WARM_UP):
            await _fetch(client, url, sessions, peer if course.forgets else None)
        resumed_before = sessions.resumed
        began, server_began = time.process_time(), served.cpu_seconds()
        for _ in range(FETCHES):
            await _fetch(client, url, sessions, peer if course.forgets else None)
        used, server_used = time.process_time() - began, served.cpu_seconds() - server_began
        expected = FETCHES if course.sessions and not course.forgets else 0
        if sessions.resumed - resumed_before != expected:
            raise SystemExit(f"{course.name}: {sessions.resumed - resumed_before} connections were resumed")
    return 1000 * used / FETCHES, 1000 * server_used / FETCHES


async def _fetch(client: Client, url: str, sessions: TlsSessions, forgotten: TlsPeer | None) -> None:
    fetched = await client.fetch(url)
    if fetched.response is None or fetched.response.status != 200:
        raise SystemExit(f"{url}: {fetched.error or fetched.response}")
    if forgotten is not None:
        sessions.offer(forgotten, inf)
