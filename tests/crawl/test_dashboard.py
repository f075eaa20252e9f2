"""The dashboard beside a crawl: it is there while the crawl runs, comes back when it dies, and never outlives it."""

from __future__ import annotations

import json
import re
import signal
import socket
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.commands import in_process

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


def read(port: int, path: str = "/api/v1/crawl") -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
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
        assert f"Dashboard: http://127.0.0.1:{port}/#token=" in crawl.stderr
        state = read(port)
        assert (state["state"], state["spider"], state["counts"]["hosts"]) == ("running", "broad", 1)
        assert state["politeness"]["min_delay"] == SLOW["POLITENESS_MIN_DELAY"]
        crawl.until(lambda: read(port)["memory"]["rss"])
        [worker] = read(port)["workers"]
        assert (worker["name"], worker["pid"], worker["state"]) == ("w0", crawl.process.pid, "running")
        assert worker["figures"]["robots"] == 1
        series = read(port, "/api/v1/series?names=robots,queued&points=1")
        assert {len(values) for values in series["names"].values()} == {1}

        [first] = dashboards_of(crawl.process.pid)
        processes.kill(first)
        crawl.until(lambda: crawl.stderr.count("Dashboard: http") == 2)
        assert "The process of the dashboard ended; it is started again in 1 s" in crawl.stderr
        assert read(port, "/api/v1/url?url=" + web.seeds[0])["conclusion"]["fate"] == "waits"

        [second] = dashboards_of(crawl.process.pid)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/events", timeout=30) as viewer:
            assert viewer.readline() == b"event: crawl\n"
            crawl.signal(signal.SIGINT)
            crawl.wait().assert_ended_well()
        processes.wait_for_end(second, 10)
    tokens = set(re.findall(r"#token=(\S+)", crawl.stderr))
    assert tokens == {(crawl.path / "dashboard.token").read_text().strip()}


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
