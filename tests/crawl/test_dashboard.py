"""The dashboard beside a crawl: it is there while the crawl runs, comes back when it dies, and never outlives it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import signal
import socket
import sys
import urllib.request
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.commands import in_process
from tests.fakeweb import witness
from webcrawl.web.dashboard import feature

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOW = {"POLITENESS_MIN_DELAY": 300, "POLITENESS_MAX_DELAY": 300}
"""A crawl that waits for its second page for longer than any test."""


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port that nobody gets who does not ask for it."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        yield one.getsockname()[1]


def asked(crawl: Any, port: int, path: str) -> urllib.request.Request:
    token = (crawl.path / "dashboard.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    return urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)


def read(crawl: Any, port: int, path: str = "/api/v1/crawl") -> Any:
    with urllib.request.urlopen(asked(crawl, port, path), timeout=30) as answer:
        return json.load(answer)


def dashboards_of(pid: int) -> list[int]:
    return [one for one in processes.children_of(pid) if "dashboard.process" in processes.name_of(one)]


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=2, pages=6, zipf=0.0)


def test_it_shows_the_crawl_comes_back_when_it_dies_and_ends_with_the_crawl(web, start):
    with reserved_port() as port:
        crawl = start(web.seeds, DASHBOARD_PORT=port, **SLOW)
        crawl.until(lambda: "Dashboard: http" in crawl.stderr)
        crawl.until_logged(1)
        file = crawl.path / "dashboard.token"
        assert f"Dashboard: http://127.0.0.1:{port}/ (its token is in {file})" in crawl.stderr
        state = read(crawl, port)
        assert (state["state"], state["spider"], state["counts"]["hosts"]) == ("running", "broad", 1)
        assert state["politeness"]["min_delay"] == SLOW["POLITENESS_MIN_DELAY"]
        crawl.until(lambda: read(crawl, port)["memory"]["rss"])
        [worker] = read(crawl, port)["workers"]
        assert (worker["name"], worker["pid"], worker["state"]) == ("w0", crawl.process.pid, "running")
        assert worker["figures"]["robots"] == 1
        series = read(crawl, port, "/api/v1/series?names=robots,queued&points=1")
        # The period may begin in one step and end in the next.
        robots, queued = series["names"]["robots"], series["names"]["queued"]
        assert len(robots) == len(queued) in (1, 2)

        [first] = dashboards_of(crawl.process.pid)
        processes.kill(first)
        crawl.until(lambda: crawl.stderr.count("Dashboard: http") == 2)
        assert "The process of the dashboard ended; it is started again in 1 s" in crawl.stderr
        assert read(crawl, port, "/api/v1/url?url=" + web.seeds[0])["conclusion"]["fate"] == "waits"

        [second] = dashboards_of(crawl.process.pid)
        with urllib.request.urlopen(asked(crawl, port, "/api/v1/events"), timeout=30) as viewer:
            assert viewer.readline() == b"event: crawl\n"
            crawl.signal(signal.SIGINT)
            crawl.wait().assert_ended_well()
        processes.wait_for_end(second, 10)
    token = file.read_text().strip()
    assert token not in crawl.stderr
    kept = [path for path in crawl.path.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    assert kept == [file]


def test_a_terminal_shows_the_token_and_no_log_does(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    terminal, pipe = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    for stream in (terminal, pipe):
        monkeypatch.setattr(sys, "stderr", stream)
        feature.announce("http://127.0.0.1:8765/", "secret", "crawls/first/dashboard.token")
    assert terminal.getvalue() == "Dashboard: http://127.0.0.1:8765/#token=secret\n"
    assert pipe.getvalue() == ""
    assert "secret" not in caplog.text


def test_a_port_in_use_is_one_warning_and_the_crawl_goes_on(web, start):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        crawl = start(web.seeds, DASHBOARD_PORT=port, **SLOW)
        crawl.until(lambda: "There is no dashboard" in crawl.stderr)
        crawl.until_logged(1)
        crawl.signal(signal.SIGINT)
        crawl.wait().assert_ended_well()
    [line] = [line for line in crawl.stderr.splitlines() if "There is no dashboard" in line]
    assert "WARNING: There is no dashboard, and the crawl goes on: cannot listen on 127.0.0.1" in line
    assert "Address already in use" in line


def test_it_ends_when_its_crawl_is_killed(web, start):
    with reserved_port() as port:
        crawl = start(web.seeds, DASHBOARD_PORT=port, **SLOW)
        crawl.until(lambda: "Dashboard: http" in crawl.stderr)
        [dashboard] = dashboards_of(crawl.process.pid)
        crawl.kill(alone=True)
        processes.wait_for_end(dashboard, 30)


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    dashboard = in_process("dashboard", capsys)
    assert dashboard(str(tmp_path / "none")).err == f"scrapy dashboard: {tmp_path / 'none'}: is no folder\n"
    assert "has no frontier.db" in dashboard(str(tmp_path)).err
    assert "one argument too many" in dashboard(str(tmp_path), str(tmp_path)).err
    assert "which crawl?" in dashboard().err
    assert "DASHBOARD_PORT: must be a whole number" in dashboard(str(tmp_path), DASHBOARD_PORT=70_000).err


FLOOD = 100_000


@pytest.mark.soak
def test_a_flood_and_a_hundred_slow_clients_do_not_touch_the_crawl(serve, start):
    """Eight connections ask as fast as they can, a hundred send a byte now and then, until the crawl is done."""
    web = serve(hosts=8, pages=150, zipf=0.0)
    settings = {"POLITENESS_MIN_DELAY": 0.1, "POLITENESS_FACTOR": 0}
    with reserved_port() as port:
        crawl = start(web.seeds, DASHBOARD_PORT=port, **settings)
        crawl.until(lambda: "Dashboard: http" in crawl.stderr)
        [dashboard] = dashboards_of(crawl.process.pid)
        statuses, largest = asyncio.run(flood(port, crawl, dashboard))
        crawl.wait(300).assert_ended_well()
    assert statuses[200] > 0
    assert statuses[429] > 0
    assert set(statuses) <= {200, 429, 503}
    assert largest < 250 << 20
    assert set(crawl.statuses()) == set(web.web.urls())
    assert witness.violations(web.hits(), lambda hit: 0.1, tolerance=0.005) == []
    assert crawl.stderr.count("WARNING") <= 2


async def flood(port: int, crawl: Any, dashboard: int) -> tuple[Counter[int], int]:
    """Ask until the crawl ends, at most FLOOD times; return how often each status came, and the most memory that the
    dashboard had."""
    statuses: Counter[int] = Counter()
    largest = 0
    token = (crawl.path / "dashboard.token").read_text().strip()
    head = f"GET /api/v1/crawl HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    request = head.encode()

    async def ask() -> None:
        while crawl.process.poll() is None and statuses.total() < FLOOD:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                for _ in range(1000):
                    writer.write(request)
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"Content-Length: (\d+)", head)
                    assert length is not None
                    await reader.readexactly(int(length[1]))
                    statuses[int(head.split()[1])] += 1
                writer.close()

    async def dribble() -> None:
        while crawl.process.poll() is None and statuses.total() < FLOOD:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                for byte in b"GET /api/v1/crawl HTTP/1.1\r\nX-Slow: " + b"a" * 1000:
                    writer.write(bytes((byte,)))
                    await writer.drain()
                    await asyncio.sleep(0.5)

    async def watch() -> None:
        nonlocal largest
        while crawl.process.poll() is None and statuses.total() < FLOOD:
            largest = max(largest, processes.resident_bytes(dashboard))
            await asyncio.sleep(0.2)

    slow = [asyncio.create_task(dribble()) for _ in range(100)]
    await asyncio.gather(watch(), *(ask() for _ in range(8)))
    for task in slow:
        task.cancel()
    return statuses, largest
