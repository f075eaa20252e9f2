"""TLS sessions are resumed, as the server sees it; and never with another host, proxy or context."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from tests.fakeweb.tls import self_signed
from tests.unit.fetching.lab import LOOPS, Client, Peer, run, serving
from tests.unit.fetching.test_tls_and_proxies import tunnel
from webcrawl.fetching.network import get_network
from webcrawl.fetching.tls_sessions import LONGEST_SECONDS, TlsSessions, get_tls_sessions
from webcrawl.fetching.tls_sessions import TlsPeer as Host

if TYPE_CHECKING:
    from tests.unit.fetching.lab import Behaviour

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
OPEN_END = b"HTTP/1.1 200 OK\r\n\r\nok"


def _context(version: ssl.TLSVersion, *, tickets: bool = True) -> ssl.SSLContext:
    context = self_signed(["a.localhost", "b.localhost"])[0]
    context.minimum_version = context.maximum_version = version
    if not tickets:
        context.options |= ssl.OP_NO_TICKET
    return context


def _telling(seen: list[bool], answer: bytes = OK) -> Behaviour:
    """Answer one request of each connection, and note whether it resumed a session."""

    async def behave(peer: Peer) -> None:
        await peer.request()
        seen.append(peer.writer.get_extra_info("ssl_object").session_reused)
        await peer.send(answer)

    return behave


V12, V13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
KEPT = [False, True, True, True]


@pytest.mark.parametrize("loop", LOOPS)
def test_each_kind_of_session_is_resumed_over_new_connections(loop: str) -> None:
    rows = [
        ("ticket of 1.2", V12, True, OK, KEPT),
        ("ID of 1.2", V12, False, OK, KEPT),
        ("ticket of 1.3", V13, True, OK, KEPT),
        ("ticket of 1.3, body up to the end", V13, True, OPEN_END, KEPT),
        ("ticket of 1.3 that is an ID", V13, False, OK, KEPT),
    ]
    wrong = []

    async def test() -> None:
        for name, version, tickets, answer, expected in rows:
            seen: list[bool] = []
            context = _context(version, tickets=tickets)
            async with serving(_telling(seen, answer), context) as site, Client() as client:
                certificates = []
                for _ in expected:
                    fetched = await client.fetch(site.url(host="a.localhost"))
                    assert fetched.response is not None, (name, fetched.error)
                    assert fetched.response.certificate is not None
                    certificates.append(fetched.response.certificate.dump())
                sessions = get_tls_sessions(client.crawler)
                counted = (sessions.connections, sessions.resumed, len(sessions))
            if (seen, counted) != (expected, (len(expected), sum(expected), 1)):
                wrong.append((name, seen, counted))
            assert len(set(certificates)) == 1

    run(test(), loop)
    assert wrong == []


@pytest.mark.parametrize("loop", LOOPS)
def test_sessions_are_not_shared_by_hosts_ports_proxies_and_crawls(loop: str) -> None:
    seen: list[bool] = []
    asked: list[bytes] = []

    async def test() -> None:
        context = _context(V13)
        async with (
            serving(_telling(seen), context) as site,
            serving(_telling(seen), context) as other_port,
            serving(tunnel(lambda: site.port, asked)) as proxy,
        ):
            async with Client() as client:
                through = {"meta": {"proxy": proxy.url()}}
                named = {**through, "headers": {"Proxy-Authorization": "Basic dTpw"}}
                for url, more in [
                    (site.url(host="a.localhost"), {}),
                    (site.url(host="b.localhost"), {}),
                    (site.url(), {}),
                    (other_port.url(host="a.localhost"), {}),
                    (site.url(host="a.localhost"), through),
                    (site.url(host="a.localhost"), named),
                ]:
                    for _ in range(2):
                        fetched = await client.fetch(url, **more)
                        assert fetched.response is not None, fetched.error
            async with Client() as client:
                await client.fetch(site.url(host="a.localhost"))

    run(test(), loop)
    assert seen == [False, True] * 6 + [False]


def test_sessions_of_other_ways_to_verify_are_not_used() -> None:
    """A context has one way, and the sessions go with it."""

    async def test() -> None:
        async with Client() as client:
            get_network(client.crawler)
            sessions = get_tls_sessions(client.crawler)
            sessions.answered(HOST, _tls(), None, 0.0)
            assert len(sessions) == 1
            sessions.serve(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
            assert len(sessions) == 0

    run(test())


def test_nothing_is_kept_with_0() -> None:
    seen: list[bool] = []

    async def test() -> None:
        async with serving(_telling(seen), _context(V13)) as site, Client(DOWNLOAD_TLS_SESSIONS=0) as client:
            for _ in range(3):
                await client.fetch(site.url(host="a.localhost"))
            sessions = get_tls_sessions(client.crawler)
            assert (sessions.connections, sessions.resumed, len(sessions)) == (3, 0, 0)

    run(test())
    assert seen == [False] * 3


def test_after_a_failed_handshake_no_session_is_offered() -> None:
    """Some servers fail on sessions that they do not know."""
    seen: list[bool] = []
    context = _context(V13)
    broken = False

    def refuse(*_: object) -> int | None:
        return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR if broken else None

    context.sni_callback = refuse

    async def test() -> None:
        nonlocal broken
        async with serving(_telling(seen), context) as site, Client() as client:
            url = site.url(host="a.localhost")
            await client.fetch(url)
            await client.fetch(url)
            broken = True
            assert (await client.fetch(url)).response is None
            broken = False
            await client.fetch(url)
            await client.fetch(url)

    run(test())
    assert seen == [False, True, False, True]


# -- without a connection ------------------------------------------------------------------------------------

HOST = Host("a.example", 443)


@dataclass
class _Session:
    ticket_lifetime_hint: int = 100
    timeout: int = 300
    has_ticket: bool = True
    id: bytes = b""


@dataclass
class _Tls:
    """An SSLObject as far as its session goes; ``read`` counts the copies."""

    session_reused: bool
    made: _Session
    read: int = 0

    @property
    def session(self) -> _Session:
        self.read += 1
        return self.made


def _tls(*, reused: bool = False, session: _Session | None = None) -> ssl.SSLObject:
    return cast("ssl.SSLObject", _Tls(reused, session or _Session()))


def _copies(tls: ssl.SSLObject) -> int:
    return cast("_Tls", tls).read


def test_the_session_that_was_used_longest_ago_goes_first() -> None:
    sessions = TlsSessions(3)
    hosts = [Host(f"{name}.example", 443) for name in "abcd"]
    for host in hosts[:3]:
        sessions.answered(host, _tls(), None, 0.0)
    sessions.answered(hosts[0], _tls(reused=True), sessions.offer(hosts[0], 1.0), 1.0)
    sessions.answered(hosts[3], _tls(), None, 2.0)

    assert [sessions.offer(host, 3.0) is not None for host in hosts] == [True, False, True, True]


def test_a_session_is_copied_again_when_half_of_its_time_is_over_and_not_offered_after_its_end() -> None:
    rows = [
        ("hint of the ticket", _Session(100, 300), 50.0, 100.0),
        ("time of an ID", _Session(0, 300), 150.0, 300.0),
        ("bounded", _Session(10**6, 300), LONGEST_SECONDS / 2, LONGEST_SECONDS),
    ]
    wrong = []
    for name, session, half, end in rows:
        sessions = TlsSessions()
        sessions.answered(HOST, _tls(session=session), None, 0.0)
        found = []
        for at in (half - 1, half):
            resumed = _tls(reused=True, session=session)
            sessions.answered(HOST, resumed, sessions.offer(HOST, at), at)
            found.append(_copies(resumed))
        last = sessions.offer(HOST, half + end)
        if (found, last) != ([0, 1], None):
            wrong.append((name, found, last))
    assert wrong == []


def test_a_session_without_ticket_and_id_is_not_kept() -> None:
    sessions = TlsSessions()
    sessions.answered(HOST, _tls(session=_Session(has_ticket=False)), None, 0.0)
    assert len(sessions) == 0


def test_an_offered_session_is_not_offered_to_a_second_connection() -> None:
    sessions = TlsSessions()
    sessions.answered(HOST, _tls(), None, 0.0)
    assert sessions.offer(HOST, 1.0) is not None
    assert sessions.offer(HOST, 1.0) is None


def test_a_new_session_is_copied_each_time_where_a_server_takes_each_once() -> None:
    sessions = TlsSessions()
    copied = []
    now = 0.0
    # The second use of the same session is refused.
    for reused in (False, True, False, True, True, True):
        now += 1
        tls = _tls(reused=reused)
        sessions.answered(HOST, tls, sessions.offer(HOST, now), now)
        copied.append(_copies(tls))
    assert copied == [1, 0, 1, 1, 1, 1]
