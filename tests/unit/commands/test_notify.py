"""``scrapy notify``: an operator tries the receivers of notifications."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests import commands


@pytest.fixture
def notify(capsys):
    return commands.in_process("notify", capsys)


@pytest.fixture
def hook():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if self.path == "/good" else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_receiver_gets_a_test_message(notify, hook):
    url = f"http://127.0.0.1:{hook.server_port}"
    assert notify(NOTIFY_WEBHOOKS=f"{url}/good").said == f"{url}: delivered\n"
    [body] = hook.bodies
    assert body["event"] == "test"
    assert body["text"] == "scrapy notify sends a test message: notifications of crawls arrive here"


def test_a_receiver_that_does_not_take_it_is_named_and_is_status_1(notify, hook):
    url = f"http://127.0.0.1:{hook.server_port}"
    done = notify("all", "is", "well", NOTIFY_WEBHOOKS=f"{url}/secret,{url}/good")
    assert (done.status, done.err) == (1, "")
    assert done.out == f"{url}: not delivered: status 404 Not Found\n{url}: delivered\n"
    assert hook.bodies[0]["text"] == "scrapy notify all is well"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "nobody to notify: set NOTIFY_WEBHOOKS or NOTIFY_MAIL_TO"),
        (
            {"NOTIFY_WEBHOOKS": "/hook"},
            "NOTIFY_WEBHOOKS: must be a list of URLs such as https://hooks.example.org/crawls, not '/hook'",
        ),
        (
            {"NOTIFY_WEBHOOKS": "http://127.0.0.1:99999/"},
            "NOTIFY_WEBHOOKS: must be a list of URLs such as https://hooks.example.org/crawls, "
            "not 'http://127.0.0.1:99999/'",
        ),
        (
            {"NOTIFY_MAIL_TO": "ops"},
            "NOTIFY_MAIL_TO: must be a list of e-mail addresses such as ops@example.org,you@example.org, not 'ops'",
        ),
        (
            {"NOTIFY_MAIL_TO": "ops@example.org", "MAIL_PORT": "smtp"},
            "MAIL_PORT: must be a whole number, not 'smtp'",
        ),
    ],
)
def test_wrong_input_is_one_line_and_status_2(notify, settings, line):
    done = notify(**settings)
    assert (done.status, done.out, done.err) == (2, "", f"scrapy notify: {line}\n")
