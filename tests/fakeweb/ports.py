"""The ports a fake web is reached at, two that lead nowhere, and free ones."""

from __future__ import annotations

import random
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Ports:
    """Port numbers on loopback; None where there is no such service."""

    http: int = 80
    https: int | None = None
    closed: int | None = None
    """Reserved, but nobody listens: connections are refused."""
    silent: int | None = None
    """Nobody answers: connections time out."""
    dns: int | None = None


SERVERS = range(10_000, 15_000)
"""Below those that the system gives to clients, and those of the tests' Redis servers."""
_CHANCE = random.SystemRandom()
"""Tests seed the other one: several at the same time would choose the same port."""


def free_port() -> int:
    """Return a port of loopback for a server that is told which to take. Nobody listens on it, and no client gets it
    meanwhile."""
    while True:
        port = _CHANCE.choice(SERVERS)
        with suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port


@contextmanager
def closed_port() -> Iterator[int]:
    """Reserve a port on which every connection is refused."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield int(reserved.getsockname()[1])


@contextmanager
def silent_port() -> Iterator[int]:
    """Reserve a port whose queue of connections is full, so that Linux drops every further SYN."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        try:
            yield port
        finally:
            for filler in fillers:
                filler.close()
