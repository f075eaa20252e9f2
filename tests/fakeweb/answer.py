"""What a request is to the fake web, and what it may do in return: bytes, pauses, and cut connections."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    method: str
    scheme: str
    host: str
    """The Host header without its port, lower-cased; empty where there is none."""
    path: str
    """The request target as sent: path and query."""
    user_agent: str
    head: bytes
    """Request line and headers as sent, without the empty line that ends them."""
    body: bytes
    connection: int
    protocol: str = "http/1.1"
    """The name that the protocol has in TLS: this, or ``h2``."""

    def header(self, name: str) -> str | None:
        """Return the value of the first header of this name."""
        wanted = name.lower().encode()
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == wanted:
                return value.strip().decode("latin-1")
        return None


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for this long."""

    seconds: float


class Cut(enum.Enum):
    """How a connection is ended in the middle of an answer."""

    CLOSE = "close"
    """Orderly: what was written is delivered, then FIN."""
    RESET = "reset"
    """RST, as a crashed server or a firewall does it."""


Step = bytes | Pause | Cut


@dataclass(slots=True)
class Answer:
    """What goes back: ``wire`` at once, then ``steps`` one after the other as the peer takes them.

    The connection stays open for the next request unless ``close`` is set or a step cuts it.
    """

    status: int | None
    """As the access log shall tell it; None where no status line is sent."""
    wire: bytes = b""
    steps: Iterator[Step] = field(default_factory=lambda: iter(()))
    close: bool = False


def head(status: int, headers: Iterable[Header], reason: str | None = None) -> bytes:
    """Return status line, headers and the empty line."""
    if reason is None:
        reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}\r\n", *(f"{name}: {value}\r\n" for name, value in headers), "\r\n"]
    return "".join(lines).encode("latin-1")


def http_answer(
    status: int = 200,
    body: bytes = b"",
    headers: Iterable[Header] = (),
    mime: str | None = "text/html; charset=utf-8",
) -> Answer:
    """Return a well-formed answer with its Content-Length; ``mime`` None leaves Content-Type out."""
    every = [("Content-Type", mime)] if mime is not None else []
    every += [*headers, ("Content-Length", str(len(body)))]
    return Answer(status, head(status, every) + body)


def redirect(status: int, location: str) -> Answer:
    """Return a redirect with the Location exactly as given."""
    return http_answer(status, b"<p>Moved.</p>\n", [("Location", location)], "text/html")
