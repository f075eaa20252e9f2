"""TLS sessions that are resumed: a connection to a host continues the session of an earlier one (RFC 8446, section
2.2; RFC 5077; the session IDs of RFC 5246).

A polite crawler waits longer between two requests than most servers keep a connection, so that each page of https
begins with a handshake. A resumed one needs no certificate and no signature.

Python copies a session, its chain of certificates included, each time that it is read or set; that costs a third of
what resumption saves. So a session is read once, when the first answer of its connection has come: a ticket of TLS
1.3 comes after the handshake. It is then used for further connections, and read anew when half of its lifetime is
over or the server did not take it. Where a server takes a session once only, that is noticed, and a new one is read
each time.

A session is taken out while it is offered, and comes back with the answer: after a connection that failed, whatever
the reason, the next one begins with a full handshake. Early data is never sent: the ssl module cannot.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

T = TypeVar("T")

SETTING = "DOWNLOAD_TLS_SESSIONS"
SESSIONS = 2_000
"""Default of ``DOWNLOAD_TLS_SESSIONS``: the most hosts whose session is kept, of about 12 KB each."""
LONGEST_SECONDS = 7_200.0
"""The longest time in seconds for which a session is used, whatever its server says."""


class TlsPeer(NamedTuple):
    """The other end of a connection. A session of one is never offered to another."""

    name: str
    """The name in SNI, or the address."""
    port: int
    via: str = ""
    """The proxy with the credentials that it was sent; empty without a proxy."""
    offers_http2: bool = False
    """True if the client offers HTTP/2. Such connections use another TLS context."""


@dataclass(slots=True)
class KeptSession:
    """A session, and when it was got."""

    session: ssl.SSLSession
    renewed_from: float
    """Monotonic seconds from which a newer one is wanted."""
    until: float
    """Monotonic seconds until which it is offered."""
    times_resumed: int = 0


class TlsSessions:
    """The sessions of one crawl, the one that was used last at the end. All belong to its contexts, one without and
    one with HTTP/2, and so to one way to verify certificates.
    """

    def __init__(self, most: int = SESSIONS) -> None:
        self.max = most
        """The most hosts whose session is kept; 0 for none."""
        self.connections = 0
        """TLS connections on which a request was sent."""
        self.resumed = 0
        """Those of them that resumed a session."""
        self._kept: OrderedDict[TlsPeer, KeptSession] = OrderedDict()
        self._taken_once: OrderedDict[TlsPeer, None] = OrderedDict()
        """Peers whose servers take a session once."""

    def __len__(self) -> int:
        return len(self._kept)

    def serve(self, *contexts: ssl.SSLContext) -> None:
        """Resume the sessions of these contexts from now on, and of no other."""
        self._kept.clear()
        for context in contexts:
            context.sslobject_class = ResumableTls

    def offer(self, peer: TlsPeer, now: float) -> KeptSession | None:
        """Take out the session that is offered to a peer."""
        kept = self._kept.pop(peer, None)
        return kept if kept is not None and now < kept.until else None

    def begun(self, is_resumed: bool) -> None:
        """Count a connection on which a request is sent."""
        self.connections += 1
        self.resumed += is_resumed

    def answered(self, peer: TlsPeer, tls: ssl.SSLObject, offered: KeptSession | None, now: float) -> None:
        """Keep the session for the next connection to a peer: this one has got an answer."""
        if not self.max:
            return
        if offered is not None:
            if tls.session_reused:
                offered.times_resumed += 1
                if now < offered.renewed_from and peer not in self._taken_once:
                    self._remember(self._kept, peer, offered)
                    return
            elif offered.times_resumed == 1:
                self._remember(self._taken_once, peer, None)
        session = tls.session
        if session is None or not (session.has_ticket or session.id):
            return
        seconds = min(session.ticket_lifetime_hint or session.timeout, LONGEST_SECONDS)
        self._remember(self._kept, peer, KeptSession(session, now + seconds / 2, now + seconds))

    def _remember(self, entries: OrderedDict[TlsPeer, T], peer: TlsPeer, value: T) -> None:
        entries[peer] = value
        entries.move_to_end(peer)
        if len(entries) > self.max:
            entries.popitem(last=False)


@dataclass(slots=True, frozen=True)
class Route:
    """The connection that is being opened: whose sessions it may resume, and what is not in its TLS object."""

    sessions: TlsSessions
    port: int
    via: str
    offers_http2: bool = False


route: ContextVar[Route | None] = ContextVar("webcrawl_tls_route", default=None)
"""Passes the route to the handshake, which the event loop begins."""


class ResumableTls(ssl.SSLObject):
    """A TLS connection that offers the session of an earlier one."""

    _route: Route | None = None
    _peer: TlsPeer | None = None
    _offered: KeptSession | None = None

    def do_handshake(self) -> None:
        """See ssl.SSLObject; the event loop calls it again and again."""
        if self._route is None:
            self._begin()
        super().do_handshake()

    def _begin(self) -> None:
        found = route.get()
        if found is None or not self.server_hostname:
            return
        self._route = found
        self._peer = TlsPeer(self.server_hostname, found.port, found.via, found.offers_http2)
        self._offered = found.sessions.offer(self._peer, monotonic())
        if self._offered is not None:
            self.session = self._offered.session

    def begun(self) -> None:
        """Count the connection, on which its first request is sent."""
        if self._route is not None:
            self._route.sessions.begun(bool(self.session_reused))

    def answered(self) -> None:
        """Keep the session for the next connection: the first answer has come."""
        if self._route is not None and self._peer is not None:
            self._route.sessions.answered(self._peer, self, self._offered, monotonic())


_sessions: WeakKeyDictionary[Crawler, TlsSessions] = WeakKeyDictionary()


def get_tls_sessions(crawler: Crawler) -> TlsSessions:
    """Return the sessions of a crawl, which the first call creates."""
    found = _sessions.get(crawler)
    if found is None:
        found = _sessions[crawler] = TlsSessions(max(0, crawler.settings.getint(SETTING, SESSIONS)))
    return found
