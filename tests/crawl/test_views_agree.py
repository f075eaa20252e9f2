"""A crawl with errors: its log, summary, report, metrics, dashboard and status say the same number of errors and
statuses, and count the hosts that have URLs."""

from __future__ import annotations

import re
import signal
import socket
from collections import Counter
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

import pytest

from tests.commands import in_process
from tests.crawl.dashboards import serving as dashboard
from tests.crawl.test_metrics import scraped
from tests.served import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS = 12
"""Hosts that have one page each."""


class Site(BaseHTTPRequestHandler):
    """``main.localhost`` has pages without end, the others one each. Some answers are errors, some no answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host, port = self.headers["Host"].split(":")
        if self.path == "/robots.txt":
            return self.answer(404, "")
        number = int("0" + "".join(filter(str.isdigit, self.path)))
        if self.path.startswith("/cut"):
            # The connection ends without an answer: also that of a second try at once.
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        links = [f"/{number + 1}", f"/cut{number}", f"/missing{number}"] if host == "main.localhost" else []
        if number == 0 and host == "main.localhost":
            links += [f"http://h{one}.localhost:{port}/" for one in range(HOSTS)]
        text = "".join(f'<a href="{link}">x</a>' for link in links)
        return self.answer(404 if "missing" in self.path else 200, f"<title>{self.path}</title>{text}")

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(Site) as server:
        yield f"http://main.localhost:{server.server_port}/0"


def test_everything_that_counts_errors_and_hosts_says_the_same(site, start, capsys):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    crawl = start([site], POLITENESS_KEY="host", POLITENESS_MIN_DELAY=0.1, RETRY_TIMES=1, METRICS_PORT=port)
    crawl.until(lambda: "Metrics: http" in crawl.stderr)
    crawl.until(lambda: len({line["key"] for line in crawl.log()}) > HOSTS)
    crawl.until(lambda: sum("error" in line for line in crawl.log()) > 5)

    # While it runs: one host of thirteen has URLs, and that limits the crawl.
    crawl.until(lambda: scraped(port).get(("webcrawl_hosts", "active", "w0")) == 1)
    with dashboard(JOBDIR=crawl.path) as served:

        def limit():
            found = served.get("/crawl")
            assert found["counts"]["hosts"] == HOSTS + 1
            return found["counts"]["active"] == 1 and found["limit"]["by"] == "hosts" and found

        crawl.until(limit)
        state = limit()
        assert f"1 of {HOSTS + 1} hosts" in state["limit"]["sentence"]
        assert state["politeness"]["capacity_per_second"] < 11
        rows = served.get("/hosts?sort=host&order=asc&limit=50")["rows"]
        assert Counter(row["state"] for row in rows) == {"empty": HOSTS, "active": 1}
        told = in_process("status", capsys)(str(crawl.path)).out
        assert f"limit    Few hosts have URLs: 1 of {HOSTS + 1} hosts." in told
    crawl.signal(signal.SIGINT)
    crawl.wait().assert_ended_well()

    log = crawl.log()
    errors = [line for line in log if line.get("status") is None and "resent" not in line]
    assert any("resent" in line for line in log)
    missing = sum(line.get("status") == 404 for line in crawl.lines())
    number = f"{len(errors):,}"
    assert re.search(rf"request errors\s+{number}\b", crawl.stderr)
    report = (crawl.path / "report.html").read_text()
    assert re.search(rf">{number}</[^>]+>\s*<[^>]+>errors<|{number}[^0-9,]{{1,60}}errors", report)
    told = in_process("status", capsys)(str(crawl.path)).out
    assert f"errors   {number}: requests without a response" in told
    assert f"4xx {missing}" in told
    with dashboard(JOBDIR=crawl.path) as served:
        totals = served.get("/crawl")["totals"]
        assert (totals["errors"], totals["pages_4xx"]) == (len(errors), missing)
        listed = served.get("/errors?limit=1000")
        assert listed["total"] == len(listed["rows"]) == len(errors)
        assert sum(listed["kinds"].values()) == len(errors)
        found = served.get("/fetches?status=4xx&kind=page&limit=1000")["rows"]
        assert len(found) == missing
        assert all(row["seconds"] is not None for row in found)
        assert {row["kind"] for row in served.get("/fetches?kind=robots&host=main.localhost")["rows"]} == {
            "robots"
        }
        kinds = [one["kind"] for one in served.get("/marks")["rows"]]
        assert kinds == ["run", "end"]
        messages = served.get("/log?level=INFO&limit=1000")["rows"]
        assert any("Spider closed" in row["message"] for row in messages)
        assert served.get("/log?search=spider+closed&limit=5")["rows"]
