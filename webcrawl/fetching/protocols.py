"""The protocol that each server of https is asked in: HTTP/1.1, or HTTP/2 if it has shown that it needs that.

HTTP/1.1 costs less, and all but a few servers answer it. Those few answer with status 426 or 505, close the
connection without an answer, or refuse HTTP/1.1 in TLS. Such a server is asked once over HTTP/2.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from webcrawl.fetching.connection import HTTP2, HTTP11

if TYPE_CHECKING:
    from webcrawl.fetching.request_head import Origin

SETTING = "DOWNLOAD_HTTP2"
NEVER, NEEDED, OFFER = "never", "needed", "offer"
REMEMBERED = 50_000
"""The number of origins whose protocol is remembered, of about 200 bytes each."""
WANTING_STATUSES = frozenset((426, 505))
"""Upgrade Required, HTTP Version Not Supported."""


class HostProtocols:
    """Remembers for a crawl which servers need HTTP/2, and which were asked in vain."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._known: OrderedDict[Origin, str] = OrderedDict()

    def offers_http2(self, origin: Origin) -> bool:
        """Return True if the server may choose HTTP/2."""
        if origin[0] != "https" or self._policy == NEVER:
            return False
        known = self._known.get(origin)
        return known == HTTP2 if self._policy == NEEDED else known != HTTP11

    def may_ask(self, origin: Origin) -> bool:
        """Return True if the server was not asked over HTTP/2 yet, and may be."""
        return origin[0] == "https" and self._policy != NEVER and origin not in self._known

    def note(self, origin: Origin, *, http2: bool) -> None:
        """Remember the protocol that a server is asked in from now on."""
        self._known[origin] = HTTP2 if http2 else HTTP11
        self._known.move_to_end(origin)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
