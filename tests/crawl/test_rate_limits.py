"""A host that names a rate limit once: whoever crawls it keeps that, also after a kill, as its own clock shows."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler
from itertools import pairwise

import pytest

from tests.commands import own_process
from tests.crawl.crawling import ROOT
from tests.served import serving

PAUSE = 1.5
"""The seconds that the host asks for: 400 requests in ten minutes."""
PAGES = 8


@pytest.fixture
def host():
    """Its origin, and the monotonic times at which each request began and ended."""
    times = []

    class Limited(BaseHTTPRequestHandler):
        wbufsize = -1  # an answer in one packet

        def do_GET(self):
            began = time.monotonic()
            if self.path == "/robots.txt":
                body, fields = b"User-agent: *\nDisallow:\n", {}
            else:
                body = "".join(f"<a href='/{number}'>{number}</a>" for number in range(PAGES - 1)).encode()
                fields = {"RateLimit": '"ten minutes";r=400;t=600'} if self.path == "/" else {}
            self.send_response(200)
            for name, value in {"Content-Type": "text/html", "Content-Length": len(body), **fields}.items():
                self.send_header(name, str(value))
            self.end_headers()
            # Before anything is sent: the client's clock starts later than this.
            times.append((self.path, began, time.monotonic()))
            self.wfile.write(body)

        def log_message(self, *words):
            """Nothing."""

    with serving(Limited) as server:
        yield f"http://127.0.0.1:{server.server_port}", times


@pytest.mark.parametrize("storage", ["sqlite", "redis"])
def test_the_pause_of_a_rate_limit_outlives_the_process_that_was_told(
    host, start, storage, request, tmp_path
):
    origin, times = host
    settings = {"POLITENESS_MIN_DELAY": 0.02, "LEASE_SECONDS": 2}
    if storage == "redis":
        settings["REDIS_URL"] = request.getfixturevalue("serve_redis")().url
        workers = [start([f"{origin}/"], WORKER_NAME=name, **settings) for name in ("a", "b")]
        workers[0].until(lambda: len(times) >= 4)
        lines = [len(worker.lines()) for worker in workers]
        killed = workers.pop(lines.index(max(lines))).kill()
        [last] = workers
        select = {"REDIS_URL": settings["REDIS_URL"]}
    else:
        killed = start([f"{origin}/"], **settings)
        killed.until(lambda: len(times) >= 4)
        killed.kill()
        last = start([f"{origin}/"], of=killed, **settings)
        select = {"JOBDIR": last.path}
    last.wait().assert_ended_well()
    explained = own_process(ROOT, "explain", f"{origin}/unknown", **select).said

    assert {path for path, *_ in times} == {"/", "/robots.txt", *(f"/{n}" for n in range(PAGES - 1))}
    paths = [path for path, *_ in times]
    told = paths.index("/")
    gaps = [later[1] - earlier[2] for earlier, later in pairwise(times[told:])]
    assert min(gaps) >= PAUSE - 0.002
    assert "RateLimit of the host: a request each 1.5 s" in explained
    pauses = [line["delay"] for line in killed.lines() + last.lines() if line["kind"] == "page"]
    assert min(pauses) >= PAUSE - 0.002
