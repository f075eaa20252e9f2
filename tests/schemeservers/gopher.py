"""A Gopher server of documents by selector, which notes each request."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.schemeservers.ftp import serve_script

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping


@dataclass
class Gopher:
    """A running server."""

    documents: Mapping[str, bytes]
    """By selector. ``PORT`` in a document stands for the port of the server."""
    port: int = 0
    requests: list[str] = field(default_factory=list)
    spans: list[tuple[float, float]] = field(default_factory=list)
    """When each connection was open."""

    @property
    def url(self) -> str:
        return f"gopher://localhost:{self.port}/"

    def answer(self, connection: socket.socket) -> None:
        began = time.monotonic()
        with connection.makefile("rb") as lines:
            selector = lines.readline().rstrip(b"\r\n").decode("latin-1")
        self.requests.append(selector)
        missing = f"3'{selector}' does not exist\t\terror.host\t1\r\n.\r\n".encode("latin-1")
        body = self.documents.get(selector, missing)
        connection.sendall(body.replace(b"PORT", str(self.port).encode()))
        self.spans.append((began, time.monotonic()))


@contextmanager
def serve_gopher(documents: Mapping[str, bytes]) -> Iterator[Gopher]:
    """Serve documents by their selectors."""
    gopher = Gopher(documents)
    with serve_script(gopher.answer) as port:
        gopher.port = port
        yield gopher


def item(kind: str, text: str, selector: str, host: str = "localhost", port: str = "PORT") -> bytes:
    """A line of a menu."""
    return f"{kind}{text}\t{selector}\t{host}\t{port}\r\n".encode("latin-1")
