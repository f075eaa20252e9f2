"""The handler for gopher, against a server of documents."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from tests.schemeservers.ftp import serve_script
from tests.schemeservers.gopher import item, serve_gopher
from tests.unit.fetching.lab import Client, run
from webcrawl.fetching.gopher import GopherDownloadHandler
from webcrawl.parsing.mime import GOPHER_MENU
from webcrawl.refusal import Refused

DOCUMENTS = {
    "": item("0", "About", "/about"),
    "/about": b"About\r\n.\r\n",
    "/a b?c": b"<p>",
    "/pic": b"GIF89a",
    "find\tword": item("0", "found", "/about"),
    "/data": b"\x00\x01",
}


def fetch(url, facts=None, **settings):
    async def once():
        async with Client(**settings) as client:
            client.handler = GopherDownloadHandler.from_crawler(client.crawler)
            return await client.fetch(url, facts)

    return run(once())


@pytest.fixture(scope="module")
def gopher():
    with serve_gopher(DOCUMENTS) as server:
        yield server


@each_row(
    ("path", "selector", "mime"),
    [
        ("", "", GOPHER_MENU),
        ("1", "", GOPHER_MENU),
        ("0/about", "/about", "text/plain"),
        ("h/a%20b?c", "/a b?c", "text/html"),
        ("I/pic", "/pic", "image/gif"),
        ("7find%09word", "find\tword", GOPHER_MENU),
        ("9/data", "/data", "application/octet-stream"),
    ],
)
def test_a_document(gopher, path, selector, mime):
    fetched = fetch(f"{gopher.url}{path}")
    body = DOCUMENTS[selector].replace(b"PORT", str(gopher.port).encode())
    assert gopher.requests[-1] == selector
    assert (fetched.response.status, fetched.response.body) == (200, body)
    assert (fetched.meta.capture.payload, fetched.meta.capture.resource_type) == (body, mime)


def test_an_error_item_is_404(gopher):
    fetched = fetch(f"{gopher.url}0/none")
    assert (fetched.response.status, fetched.meta.capture.reply, fetched.response.body) == (404, "3", b"")
    assert fetched.meta.capture.resource_type is None


@each_row("path", ["8/telnet", "2/people", "i", "0/a%0D%0Ab", "0/a%00"])
def test_what_names_no_document_is_not_requested(gopher, path):
    before = len(gopher.requests)
    assert fetch(f"{gopher.url}{path}").word == "unsupported"
    assert len(gopher.requests) == before


def test_unwanted_types_are_not_requested(gopher):
    before = len(gopher.requests)
    for path in ("g/pic", "I/pic", "9/x.zip"):
        assert isinstance(fetch(f"{gopher.url}{path}", {"wanted": ("text/*",)}).error, Refused)
    assert len(gopher.requests) == before
    assert fetch(gopher.url, {"wanted": ("text/html",)}).response.status == 200


def test_limits_and_failures(gopher):
    def endless(connection):
        connection.recv(100)
        while True:
            connection.sendall(b"x" * 1000)

    with serve_script(endless) as port:
        cut = fetch(f"gopher://127.0.0.1:{port}/0/a", DOWNLOAD_MAXSIZE=5000)
    assert (len(cut.response.body), cut.meta.capture.truncated) == (5000, "length")
    with serve_script(lambda connection: connection.recv(100)) as port:
        assert fetch(f"gopher://127.0.0.1:{port}/0/a").word == "empty"
    with serve_script(lambda connection: [connection.recv(100), connection.recv(100)]) as port:
        assert fetch(f"gopher://127.0.0.1:{port}/0/a", DOWNLOAD_TIMEOUT=0.3).word == "timeout"
    assert fetch("gopher://127.0.0.1:1/0/a").word == "connection-refused"
    assert fetch(gopher.url, FETCH_PRIVATE_ADDRESSES=False).word == "private"
