"""The plain values that one fetch produces: the bytes for the WARC file and the line for the fetch log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from webcrawl.archive.spool_files import delete

if TYPE_CHECKING:
    from webcrawl.archive.listed_links import LinkRow, SpooledLinks

Truncated = Literal["length", "time", "disconnect", "unspecified"]
"""The reason why a payload is shorter than the one the server had (WARC 1.1, section 5.13)."""


Fact = str | int | float | bool | None | Mapping[str, Any]
"""The type of a further fact in a line of the fetch log: a value, or values by name."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""Statuses whose ``Location`` is followed."""
BLOCK_BYTES = 1 << 18
"""Bytes of a spooled payload that are read at a time."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A payload that is stored in a file because it is too long for memory. Iterate over it for its bytes."""

    path: str
    length: int
    digest: bytes
    """A digest of the payload, 16 bytes."""

    def __iter__(self) -> Iterator[bytes]:
        with Path(self.path).open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                yield block

    def remove(self) -> None:
        """Delete the file."""
        delete(self.path)


@dataclass(slots=True)
class Capture:
    """One HTTP exchange as it went over the wire.

    ``request_head`` and ``response_head`` run from the first byte of the start line to the empty line that
    ends the head, both included, exactly as sent and received. ``payload`` is the body after the transfer
    coding was removed and before any content coding is: what RFC 9110 calls the content. A capture without a
    response (the connection failed) has an empty ``response_head``.
    """

    url: str
    method: str
    started_at: float
    """Epoch seconds when the request was handed to the network."""
    ended_at: float
    """Epoch seconds when the response had ended, was cut or had failed."""
    ip: str | None
    """The address of the connection."""
    request_head: bytes
    request_body: bytes
    response_head: bytes
    payload: bytes
    truncated: Truncated | None = None
    resource_type: str | None = None
    """The MIME type of a payload that has no heads: fetched by another protocol than HTTP, or by other software."""
    source: str | None = None
    """The source of a payload of HTTP without heads: ``cache``, ``middleware``, or the import path of a download
    handler.
    """
    reply: str | None = None
    """The code of the reply in another protocol than HTTP, such as 550 of FTP; the status of HTTP is in the head."""
    spooled: Spooled | None = None
    """The file that holds the payload of a long sitemap; ``payload`` is empty then. The file exists until the group
    is durable.
    """
    lost: LostSending | None = None
    """The first attempt to send the request, if it was lost, or answered with the wish for another protocol; the
    times above are those of the second attempt.
    """
    protocol: str | None = None
    """``h2`` for an exchange over HTTP/2, whose heads have the form of HTTP/1.1 all the same; None for HTTP/1.1."""
    cipher_suite: str | None = None
    """The cipher suite of TLS by its registered name, for HTTP/2 and if it is known."""

    @property
    def length(self) -> int:
        """Length of the payload in bytes, in memory or in a file."""
        return len(self.payload) if self.spooled is None else self.spooled.length


@dataclass(frozen=True, slots=True)
class LostSending:
    """A request that was sent again: a server never answered it, since it closed the kept connection as the request
    arrived, or it wanted another protocol.
    """

    started_at: float
    ended_at: float
    """Epoch seconds when it was sent and when the connection was found closed."""
    ip: str | None
    error: str | None
    """A key of ``politeness.health.FAILURES``; the failure is not counted against the host. None for an answer."""
    capture: Capture | None = None
    """The answer that wanted another protocol."""
    status: int | None = None
    """Its status."""


@dataclass(slots=True)
class FetchRecord:
    """One finished request with the fields of a line of ``fetch.jsonl``. Times are epoch seconds.

    Either ``status`` (an HTTP status) or ``error`` (a key of ``politeness.health.FAILURES``) is set, never both.
    """

    start: float
    end: float
    url: str
    key: str
    ip: str | None
    kind: str
    status: int | None
    error: str | None
    mime: str | None
    bytes: int
    location: str | None
    via: str | None
    depth: int
    worker: str
    extra: dict[str, Fact] = field(default_factory=dict)
    """Further facts, appended to the line after the contract's fields (``truncated``, ``attempt``, ...)."""


@dataclass(frozen=True, slots=True)
class Revisit:
    """The earlier record of the same payload, which is therefore not stored again (WARC 1.1, section 6.7)."""

    profile: Literal["identical-payload-digest", "server-not-modified"]
    target_uri: str
    date: float
    """Time of the earlier capture in epoch seconds; its WARC-Date."""
    record_id: str | None = None
    """WARC-Record-ID of the earlier record with its angle brackets, if known."""


@dataclass(slots=True)
class ArchiveEntry:
    """The input of the archive for one finished request; without ``capture`` nothing is written to a WARC file."""

    record: FetchRecord
    capture: Capture | None = None
    revisit: Revisit | None = None
    """The record that already holds the payload; the WARC record refers to it instead of storing the payload
    again.
    """
    links: Sequence[LinkRow] = ()
    """All HTTP links of the page, followed or not, or the URLs that a list names; filled only if a store wants
    them.
    """
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields that processing found in the page, plain values by name; filled only if a store wants them."""
    found: Sequence[tuple[Any, ...]] = ()
    """Discovered URLs that are not queued here, a row of plain values each; see ``features.segments.results``."""
    other_links: Sequence[LinkRow] = ()
    """The links with other schemes (``mailto:``, ``javascript:``), filled likewise."""
    listed: SpooledLinks | None = None
    """The URLs of a long list, in place of ``links`` and ``other_links``. The file exists until the group is
    durable.
    """
    kept: Callable[[], None] | None = None
    """Called once the entry is durable."""
