"""The choice between HTTP/1.1 and HTTP/2, as servers see it."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("h2")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, PingAckReceived, RequestReceived
from scrapy import Request

from tests.fakeweb.tls import self_signed
from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Peer, run, serving
from tests.unit.fetching.test_tls_and_proxies import tunnel
from webcrawl.fetching.protocols import REMEMBERED, HostProtocols
from webcrawl.fetching.tls_sessions import get_tls_sessions
from webcrawl.storage.contract import LeaseValidity

if TYPE_CHECKING:
    from tests.unit.fetching.lab import Behaviour, Fetched, Site

NO_APPLICATION_PROTOCOL = 120
"""The alert of TLS by which a server refuses all protocols that a client offers."""
HTTP_1_1_REQUIRED = 0xD
HOST = "a.localhost"


def context(*protocols: str) -> ssl.SSLContext:
    made = self_signed([HOST])[0]
    if protocols:
        made.set_alpn_protocols(list(protocols))
    return made


class Server:
    """Answers HTTP/1.1 and HTTP/2, and notes what it was asked over which: ``1:/path`` and ``2:/path``."""

    def __init__(self, http11: bytes | None, http2: int | None = 200) -> None:
        """``http11``: its answer, None to close. ``http2``: the status, None to want HTTP/1.1."""
        self.http11, self.http2 = http11, http2
        self.asked: list[str] = []
        self.resumed: list[bool] = []
        self.idle = b""
        """What is sent after an answer."""
        self.told: list[Any] = []

    async def __call__(self, peer: Peer) -> None:
        tls = peer.writer.get_extra_info("ssl_object")
        self.resumed.append(tls.session_reused)
        if tls.selected_alpn_protocol() == "h2":
            await self._speak_http2(peer)
            return
        while True:
            request = await peer.request()
            self.asked.append(f"1:{request.split()[1].decode()}")
            if self.http11 is None:
                return
            await peer.send(self.http11)

    async def _speak_http2(self, peer: Peer) -> None:
        server: Any = H2Connection(H2Configuration(client_side=False, header_encoding="ascii"))
        server.initiate_connection()
        while True:
            await peer.send(server.data_to_send())
            received = await peer.reader.read(1 << 16)
            if not received:
                return
            for event in server.receive_data(received):
                if isinstance(event, PingAckReceived | ConnectionTerminated):
                    self.told.append(type(event))
                if not isinstance(event, RequestReceived):
                    continue
                self.asked.append(f"2:{dict(event.headers)[':path']}")
                if self.http2 is None:
                    server.reset_stream(event.stream_id, HTTP_1_1_REQUIRED)
                    continue
                server.send_headers(
                    event.stream_id, [(":status", str(self.http2)), ("content-type", "text/plain")]
                )
                server.send_data(event.stream_id, b"two", end_stream=True)
                if self.idle:
                    await peer.send(server.data_to_send() + self.idle)


def answer(status: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: 3\r\n\r\none" % status


def visit(
    server: Behaviour, tls: ssl.SSLContext, *requests: str | Request, loop: str = "uvloop", **settings: Any
) -> tuple[list[Fetched], Site]:
    """Fetch paths, or Requests of them, one after the other."""

    async def test() -> tuple[list[Fetched], Site]:
        async with serving(server, tls) as site, Client(**settings) as client:
            fetched = []
            for each in requests:
                path = each if isinstance(each, str) else "/"
                url = site.url(path, HOST)
                fetched.append(await client.fetch(url if isinstance(each, str) else each.replace(url=url)))
            return fetched, site

    result: tuple[list[Fetched], Site] = run(test(), loop)
    return result


BOTH = ("h2", "http/1.1")
WANTING = {
    "426": answer(b"426 Upgrade Required"),
    "505": answer(b"505 HTTP Version Not Supported"),
    "close": None,
    "frames": b"\0\0\6\4\0\0\0\0\0" + b"\0\3\0\0\0\1",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_needs_http2_is_asked_once_over_http11(loop: str) -> None:
    for name, http11 in WANTING.items():
        server = Server(http11)
        fetched, site = visit(server, context(*BOTH), "/a", "/b", "/c", loop=loop)
        assert server.asked == ["1:/a", "2:/a", "2:/b", "2:/c"], name
        assert site.connections == 2
        first, second, _ = fetched
        assert first.response is not None
        assert (first.response.body, first.response.protocol) == (b"two", "h2")
        capture = first.meta.capture
        assert capture is not None
        assert capture.lost is not None
        expected = (int(name), None) if name.isdigit() else (None, "empty" if name == "close" else "protocol")
        assert (capture.lost.status, capture.lost.error) == expected
        if name.isdigit():
            assert capture.lost.capture is not None
            assert capture.lost.capture.payload == b"one"
            assert capture.lost.capture.protocol is None
        assert capture.protocol == "h2"
        assert capture.cipher_suite is not None
        assert capture.cipher_suite.startswith("TLS_")
        assert b"Connection" not in capture.request_head
        assert second.meta.capture is not None
        assert second.meta.capture.lost is None


def test_a_server_that_refuses_http11_in_tls_is_asked_over_http2() -> None:
    """As those of Go do."""
    server, tls = Server(None), context(*BOTH)
    refuses = [True]

    def choose(*_: object) -> int | None:
        # ssl does not say what the client offers: the first connection is the one with HTTP/1.1.
        return NO_APPLICATION_PROTOCOL if refuses and refuses.pop() else None

    tls.sni_callback = choose
    fetched, _ = visit(server, tls, "/a", "/b")
    assert server.asked == ["2:/a", "2:/b"]
    assert [one.response is not None for one in fetched] == [True, True]
    assert fetched[0].meta.capture is not None
    assert fetched[0].meta.capture.lost is not None
    # asyncio does not send the alert that OpenSSL has made.
    assert fetched[0].meta.capture.lost.error == "reset"


@each_row("name, http11", WANTING.items())
def test_without_http2_the_first_outcome_stands(name: str, http11: bytes | None) -> None:
    """Nothing is sent a second time, and the server is not asked again."""
    server = Server(http11)
    fetched, site = visit(server, context("http/1.1"), "/a", "/b")
    assert server.asked == ["1:/a", "1:/b"]
    for one in fetched:
        assert one.meta.capture is not None
        assert one.meta.capture.lost is None
        if name.isdigit():
            assert one.response is not None
            assert (one.response.status, one.response.body) == (int(name), b"one")
        else:
            assert one.word == ("empty" if name == "close" else "protocol")
    assert site.connections <= 3


def test_what_is_not_asked_over_http2() -> None:
    rows: list[tuple[dict[str, Any], str | Request, list[str]]] = [
        ({"DOWNLOAD_HTTP2": "never"}, "/", ["1:/"]),
        ({}, Request("https://h.test", method="POST", body=b"x"), ["1:/"]),
    ]
    for settings, request, expected in rows:
        server = Server(WANTING["426"])
        fetched, _ = visit(server, context(*BOTH), request, **settings)
        assert server.asked == expected
        assert fetched[0].response is not None
        assert fetched[0].response.status == 426


def test_a_server_that_wants_another_version_of_http2_too() -> None:
    server = Server(WANTING["505"], http2=505)
    fetched, _ = visit(server, context(*BOTH), "/a", "/b")
    assert server.asked == ["1:/a", "2:/a", "1:/b"]
    assert [one.response and one.response.status for one in fetched] == [505, 505]


def test_http2_is_offered_where_that_is_set() -> None:
    server = Server(answer(b"200 OK"))
    fetched, site = visit(server, context(*BOTH), "/a", "/b", DOWNLOAD_HTTP2="offer")
    assert (server.asked, site.connections) == (["2:/a", "2:/b"], 1)
    assert [one.response and one.response.protocol for one in fetched] == ["h2", "h2"]
    server = Server(answer(b"200 OK"))
    fetched, _ = visit(server, context("http/1.1"), "/a", DOWNLOAD_HTTP2="offer")
    assert (server.asked, fetched[0].response and fetched[0].response.protocol) == (["1:/a"], "HTTP/1.1")


def test_a_server_that_wants_http11_gets_it() -> None:
    server = Server(answer(b"200 OK"), http2=None)
    fetched, _ = visit(server, context(*BOTH), "/a", "/b", DOWNLOAD_HTTP2="offer")
    assert server.asked == ["2:/a", "1:/a", "1:/b"]
    assert [one.response and one.response.body for one in fetched] == [b"one", b"one"]
    assert fetched[0].meta.capture is not None
    assert fetched[0].meta.capture.protocol is None


PING = b"\0\0\x08\x06\0\0\0\0\0" + b"12345678"
GOAWAY = b"\0\0\x08\x07\0\0\0\0\0" + b"\0\0\0\1" + bytes(4)


def test_frames_on_a_kept_connection() -> None:
    """A ping is answered; after a GOAWAY there is a new connection."""
    server = Server(None)
    server.idle = PING
    _, site = visit(server, context(*BOTH), "/a", "/b", DOWNLOAD_HTTP2="offer")
    assert (server.asked, site.connections) == (["2:/a", "2:/b"], 1)
    assert PingAckReceived in server.told
    server = Server(None)
    server.idle = GOAWAY
    fetched, site = visit(server, context(*BOTH), "/a", "/b", DOWNLOAD_HTTP2="offer")
    assert (server.asked, site.connections) == (["2:/a", "2:/b"], 2)
    assert [one.error for one in fetched] == [None, None]


def test_sessions_of_tls_are_resumed_with_http2() -> None:
    server = Server(None)

    async def test() -> None:
        async with (
            serving(server, context(*BOTH)) as site,
            Client(DOWNLOAD_HTTP2="offer", DOWNLOAD_IDLE_CONNECTIONS=0) as client,
        ):
            for _ in range(3):
                assert (await client.fetch(site.url("/", HOST))).response is not None
            assert get_tls_sessions(client.crawler).resumed == 2

    run(test())
    assert server.resumed == [False, True, True]


def test_a_body_that_is_cut_ends_the_connection_in_words() -> None:
    server = Server(None)
    _, site = visit(
        server,
        context(*BOTH),
        Request("https://h.test", meta={"download_maxsize": 2}),
        "/b",
        DOWNLOAD_HTTP2="offer",
    )
    assert site.connections == 2


def test_what_is_remembered_is_limited() -> None:
    protocols = HostProtocols("needed")
    for number in range(REMEMBERED + 1):
        protocols.note(("https", f"h{number}", 443), http2=True)
    assert not protocols.offers_http2(("https", "h0", 443))
    assert protocols.offers_http2(("https", "h1", 443))
    assert protocols.may_ask(("https", "h0", 443))
    assert not protocols.may_ask(("http", "h0", 80))


@pytest.mark.parametrize("loop", LOOPS)
def test_http2_through_a_tunnel(loop: str) -> None:
    server = Server(WANTING["505"])

    async def test() -> None:
        connects: list[bytes] = []
        async with (
            serving(server, context(*BOTH)) as site,
            serving(tunnel(lambda: site.port, connects)) as proxy,
            Client() as client,
        ):
            for path in ("/a", "/b"):
                fetched = await client.fetch(site.url(path, HOST), meta={"proxy": proxy.url()})
                assert fetched.response is not None, fetched.error
                assert fetched.response.body == b"two"
            assert len(connects) == 2

    run(test(), loop)
    assert server.asked == ["1:/a", "2:/a", "2:/b"]


def test_the_lease_that_has_ended_meanwhile_leaves_the_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is sent; what was sent is told."""
    server = Server(WANTING["505"])
    validity = LeaseValidity()
    sleep = asyncio.sleep

    async def passed(seconds: float) -> None:
        if seconds == 7:
            validity.until = 0.0
        else:
            await sleep(seconds)

    async def test() -> None:
        async with serving(server, context(*BOTH)) as site, Client() as client:
            monkeypatch.setattr(asyncio, "sleep", passed)
            fetched = await client.fetch(site.url("/a", HOST), {"pause_seconds": 7.0, "validity": validity})
            assert fetched.response is not None, fetched.error
            assert fetched.response.status == 505
            assert fetched.meta.capture is not None
            assert fetched.meta.capture.lost is None

    run(test())
    assert server.asked == ["1:/a"]
