"""A client that shows what really comes over the wire."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass

_HOST = "h0000.localhost"


@dataclass(frozen=True)
class Received:
    """What a server sent, and how it stopped."""

    data: bytes
    end: str
    """``closed``, ``reset``, ``limit`` (we have read enough) or ``waiting`` (nothing came any more)."""

    @property
    def head(self) -> bytes:
        """Everything before the first empty line."""
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def body(self) -> bytes:
        """Everything after the first empty line."""
        return self.data.partition(b"\r\n\r\n")[2]


def receive(
    port: int, path: str, *, host: str = _HOST, limit: int = 10**7, patience: float = 5.0, more: str = ""
) -> Received:
    """Ask for ``path`` on a new connection and return what comes until it ends."""
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{more}\r\n"
    return talk(port, request.encode(), limit=limit, patience=patience)


def talk(port: int, sent: bytes, *, limit: int = 10**7, patience: float = 5.0) -> Received:
    """Send bytes on a new connection and return what comes until it ends."""
    data = b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(patience)
        connection.sendall(sent)
        while len(data) < limit:
            try:
                part = connection.recv(2**20)
            except ConnectionResetError:
                return Received(data, "reset")
            except TimeoutError:
                return Received(data, "waiting")
            if not part:
                return Received(data, "closed")
            data += part
    return Received(data, "limit")


def get(
    port: int, path: str, host: str = _HOST, headers: dict[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Fetch a page with an ordinary client: status, headers and body."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        client.request("GET", path, headers={"Host": f"{host}:{port}", **(headers or {})})
        response = client.getresponse()
        return response.status, response.headers, response.read()
    finally:
        client.close()
