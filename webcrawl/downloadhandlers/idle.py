"""Connections that lie idle until the next request to their origin.

aiohttp's connector keeps such ones too, but to ask it for one takes several times as long as to look here, and most
requests of a crawl find one.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp.connector import Connection

    from webcrawl.downloadhandlers.connection import PageProtocol
    from webcrawl.downloadhandlers.request_head import Origin

KEEP_ALIVE_SECONDS = 30.0
"""How long a connection may lie idle before it is closed; it may lie there half a minute more before that is noticed,
but is not given out any more."""


class IdleConnections:
    """At most ``most`` of them. Who holds it calls ``release_all`` when the crawl ends."""

    def __init__(self, most: float) -> None:
        self._most = most
        self.protocols: set[PageProtocol] = set()
        """Of the connections that can be used; a protocol leaves it by itself when it is used or lost."""
        self._waiting: dict[Origin, list[tuple[Connection, float]]] = {}
        """With the monotonic second at which each was kept; the last one is the newest."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def has_room(self) -> bool:
        return len(self.protocols) < self._most

    def take(self, origin: Origin) -> Connection | None:
        """The one that was used last, None where there is none."""
        waiting = self._waiting.get(origin)
        while waiting:
            connection, since = waiting.pop()
            if not waiting:
                del self._waiting[origin]
            if not connection.closed and monotonic() - since <= KEEP_ALIVE_SECONDS:
                return connection
            connection.close()
        return None

    def keep(self, origin: Origin, connection: Connection, protocol: PageProtocol) -> None:
        """Keep a connection, or close it where there is no room or it cannot carry another request."""
        if not self.has_room or connection.closed or protocol.should_close:
            connection.close()
            return
        self.protocols.add(protocol)
        self._waiting.setdefault(origin, []).append((connection, monotonic()))
        if self._timer is None:
            self._sleep()

    def release_all(self) -> None:
        """Give all of them back to aiohttp's connector, which closes them in order."""
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._waiting.values():
            for connection, _ in waiting:
                connection.release()
        self._waiting.clear()

    def _sleep(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(KEEP_ALIVE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close those that nobody used, and let go of those that were closed by their servers."""
        self._timer, eldest = None, monotonic() - KEEP_ALIVE_SECONDS
        for origin, waiting in list(self._waiting.items()):
            young = []
            for connection, since in waiting:
                if connection.closed or since < eldest:
                    connection.close()
                else:
                    young.append((connection, since))
            if young:
                self._waiting[origin] = young
            else:
                del self._waiting[origin]
        if self._waiting:
            self._sleep()
