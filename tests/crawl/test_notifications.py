"""A crawl that tells its operator, by a webhook on loopback."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.process.workers import WorkerProcesses


class Hook(ThreadingHTTPServer):
    """Takes messages; one whose path is /hangs is not answered before ``go_on`` is set; /gone is not there."""

    daemon_threads = True

    def __init__(self):
        self.messages = []
        self.go_on = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/hangs":
                    hook.go_on.wait()
                if self.path == "/":
                    hook.messages.append(message)
                self.send_response(404 if self.path == "/gone" else 204)
                self.end_headers()

            def log_message(self, *args):
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.server_port}{path}"


@contextmanager
def listening():
    hook = Hook()
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    try:
        yield hook
    finally:
        hook.go_on.set()
        hook.shutdown()
        hook.server_close()


def test_a_crawl_tells_that_its_disk_fills_and_that_it_was_stopped(serve, start):
    web = serve(hosts=6, pages=None, seed=2)
    with listening() as hook:
        crawl = start(
            web.seeds,
            NOTIFY_WEBHOOKS=f"{hook.url()},{hook.url('/gone')}",
            NOTIFY_DISK_FREE_BYTES=1 << 60,
            POLITENESS_MIN_DELAY=0.05,
        )
        crawl.until(lambda: hook.messages)
        crawl.until_logged(20)
        crawl.signal(signal.SIGTERM)
        crawl.wait().assert_ended_well()

    disk, end = hook.messages
    assert disk["text"].startswith("job fills its disk: ")
    assert (disk["event"], disk["crawl"]["jobdir"]) == ("disk", str(crawl.path))
    assert (end["event"], end["details"]["reason"]) == ("end", "shutdown")
    assert end["text"].startswith("job was stopped after ")
    assert end["figures"]["pages"] == sum("status" in line for line in crawl.lines())
    assert end["figures"]["queued"] == crawl.assert_sound().queued > 0
    warnings = [line for line in crawl.stderr.splitlines() if "Not notified" in line]
    assert len(warnings) == 2
    assert "status 404" in warnings[1]
    # The path of such an address is a password.
    assert "/gone" not in "".join(warnings)


@pytest.mark.soak
def test_the_end_does_not_wait_for_a_receiver_that_hangs(serve, start):
    web = serve(hosts=2, pages=5, seed=2)
    with listening() as hook:
        crawl = start(web.seeds, NOTIFY_WEBHOOKS=f"{hook.url('/hangs')},{hook.url()}")
        crawl.wait().assert_ended_well()
        assert [message["event"] for message in hook.messages] == ["end"]
    assert "the crawl ends first. The message was: job finished" in crawl.stderr


@pytest.mark.soak
def test_workers_tell_of_their_end_once(serve, start, serve_redis):
    web = serve(hosts=6, pages=60, seed=3)
    redis = serve_redis()
    with listening() as hook:
        workers = WorkerProcesses(
            start, redis, web.seeds, NOTIFY_WEBHOOKS=hook.url(), NOTIFY_DISK_FREE_BYTES=1 << 60
        )
        for name in ("w1", "w2", "w3"):
            workers.start(name)
        workers.wait(120)
    assert [message["event"] for message in hook.messages if message["event"] == "end"] == ["end"]
    end = hook.messages[-1]
    assert end["crawl"]["name"] == "broad"
    assert redis.url.rpartition("/")[0].removeprefix("redis://") in end["crawl"]["shared"]
    assert len(hook.messages) <= 2
