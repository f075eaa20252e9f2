"""The CPU time of a page, and of its fetch alone, over HTTP/2 and over HTTP/1.1 on https, on kept and on new
connections."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from tests.bench.crawls import AT_ONCE, FRESH, ROUNDS, in_turn, ours, ratios, spread, told
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from tests.unit.fetching.lab import Client

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.meter import Figures
    from tests.fakeweb.process import Served

FETCHES = 400
"""Fetches of one measurement, one after another."""
WARM_UP = 40


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
    """Print the CPU time of crawls and of fetches in both protocols, in turn, and their ratios."""
    _fetches()
    _pages(folder, seconds)


def _pages(folder: Path, seconds: float) -> None:
    """Print the CPU time of a page of a crawl with all defaults, of its process alone."""
    config = Config(kind="bench", hosts=HOSTS, pages=20, fresh=FRESH, tls=True, http2=("both",))
    print(f"Crawls of {HOSTS} hosts on https, delay 0, all defaults, {ROUNDS} of {seconds:g} s each:")
    with serve_in_process(config) as web:
        folder.mkdir(parents=True, exist_ok=True)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"https://{host}:{web.ports.https}/\n" for host in web.site.hosts))
        for name, kept in (("kept connections", 1024), ("a new connection a page", 0)):
            crawls = {
                protocol: partial(
                    _crawl, seeds, seconds, f"DOWNLOAD_HTTP2={policy}", f"DOWNLOAD_IDLE_CONNECTIONS={kept}"
                )
                for protocol, policy in POLICIES.items()
            }
            found = in_turn(folder / name.replace(" ", "-"), crawls)
            print(f" {name}:")
            for protocol, runs in found.items():
                print(f"  {protocol:10} {told(runs)}")
            print(f"  {ratios(*(found[protocol] for protocol in POLICIES), form='{:.2f}')} times the CPU")


def _crawl(seeds: Path, seconds: float, protocol: str, kept: str, folder: Path) -> Figures:
    return ours(folder, seeds, seconds, *AT_ONCE, protocol, kept, allow="^https:")


def _fetches() -> None:
    config = Config(kind="bench", hosts=1, pages=20, tls=True, http2=("both",))
    found: dict[tuple[str, str], list[float]] = {
        (course.name, protocol): [] for course in COURSES for protocol in POLICIES
    }
    with serve_in_process(config) as served:
        for number in range(2 * ROUNDS + 1):
            for course in COURSES:
                for protocol in list(POLICIES)[:: -1 if number % 2 else 1]:
                    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                        used = runner.run(_measure(course, protocol, served))
                    found[course.name, protocol].append(used)
    sys.stdout.write(
        f"http2: CPU-ms a fetch of 29 kB in the client, medians of {2 * ROUNDS + 1} rounds of {FETCHES} in turn\n"
    )
    for course in COURSES:
        pair = [found[course.name, protocol] for protocol in POLICIES]
        ratios = [two / one for one, two in zip(*pair, strict=True)]
        times = ", ".join(
            f"{name} {spread(times, '{:.2f}')}" for name, times in zip(POLICIES, pair, strict=True)
        )
        sys.stdout.write(f"  {course.name:32} {times}: {median(ratios):.2f} times\n")


async def _measure(course: Course, protocol: str, served: Served) -> float:
    """Return the CPU-ms of a fetch in this process."""
    url = f"https://{served.site.hosts[0]}:{served.ports.https}/"
    settings = {
        "DOWNLOAD_IDLE_CONNECTIONS": course.kept,
        "DOWNLOAD_TLS_SESSIONS": course.sessions,
        "DOWNLOAD_HTTP2": POLICIES[protocol],
    }
    async with Client(**settings) as client:
        for _ in range(WARM_UP):
            await _fetch(client, url, protocol)
        began = time.process_time()
        for _ in range(FETCHES):
            await _fetch(client, url, protocol)
        return 1000 * (time.process_time() - began) / FETCHES


async def _fetch(client: Client, url: str, protocol: str) -> None:
    fetched = await client.fetch(url)
    if fetched.response is None or fetched.response.status != 200:
        raise SystemExit(f"{url}: {fetched.error or fetched.response}")
    if (fetched.response.protocol == "h2") != (protocol == "HTTP/2"):
        raise SystemExit(f"{url}: fetched over {fetched.response.protocol}")
