"""What one fetch leaves behind, as plain values: the bytes for the WARC and the line for the fetch log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from webcrawl.archive.listed_links import SpooledLinks

Truncated = Literal["length", "time", "disconnect", "unspecified"]
"""Why a payload is shorter than what the server had to give (WARC 1.1, section 5.13)."""


Fact = str | int | float | bool | None | Mapping[str, float]
"""What a line of the fetch log may say of a request beside its fields: a value, or numbers by name."""

LinkRow = tuple[str, str, str, str]
"""A link of a page as ``documents.links.Link`` has it: url, type, text, rel."""


BLOCK_BYTES = 1 << 18
"""What is read of a spooled payload at a time."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A payload that lies in a file, since it is too long to be held in memory. Iterate over it for its bytes."""

    path: str
    length: int
    digest: bytes
    """Sixteen bytes that stand for it."""

    def __iter__(self) -> Iterator[bytes]:
        with Path(self.path).open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                yield block

    def remove(self) -> None:
        """Nobody needs it any more."""
        Path(self.path).unlink(missing_ok=True)


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
    """The address that was really connected to."""
    request_head: bytes
    request_body: bytes
    response_head: bytes
    payload: bytes
    truncated: Truncated | None = None
    resource_type: str | None = None
    """Set for what came by another protocol than HTTP, with a payload and no heads: its MIME type."""
    spooled: Spooled | None = None
    """Where the payload is in place of ``payload``, which is empty then: that of a long sitemap. The file is there
    until the group is kept."""
    lost: LostSending | None = None
    """The first time that it was sent, where that was lost and the times above are those of the second."""

    @property
    def length(self) -> int:
        """Bytes of the payload, wherever it is."""
        return len(self.payload) if self.spooled is None else self.spooled.length


@dataclass(frozen=True, slots=True)
class LostSending:
    """A request that a server never answered, since it closed the kept connection as the request came."""

    started_at: float
    ended_at: float
    """Epoch seconds: when it was sent, and when the connection was found closed."""
    ip: str | None
    error: str
    """A word of ``hosts.health.FAILURES``; the host is not charged with it."""


@dataclass(slots=True)
class FetchRecord:
    """One finished request, as ``fetch.jsonl`` tells it. Times are epoch seconds.

    Either ``status`` (an HTTP status) or ``error`` (a word from ``hosts.health.FAILURES``) is set, never
    both.
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
    """The earlier record that makes storing a payload again needless (WARC 1.1, section 6.7)."""

    profile: Literal["identical-payload-digest", "server-not-modified"]
    target_uri: str
    date: float
    """When the earlier record was captured, epoch seconds; its WARC-Date."""
    record_id: str | None = None
    """Its WARC-Record-ID with the angle brackets, where known."""


@dataclass(slots=True)
class Entry:
    """What the archive is given for one finished request; without ``capture`` nothing goes into a WARC."""

    record: FetchRecord
    capture: Capture | None = None
    revisit: Revisit | None = None
    """Where the payload is already; its WARC record then says so instead of having it again."""
    links: Sequence[LinkRow] = ()
    """All links of the page over HTTP, followed or not, or what a list of URLs names; filled only if a store wants
    them.
    """
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What processing found in the page, plain values by name; filled only if a store wants them."""
    found: Sequence[tuple[Any, ...]] = ()
    """What it brought and is not queued here, a row of plain values each; see ``segments.found``."""
    other_links: Sequence[LinkRow] = ()
    """Likewise those of other schemes (``mailto:``, ``javascript:``)."""
    listed: SpooledLinks | None = None
    """What a long list of URLs names, in place of ``links`` and ``other_links``. The file is there until the group is
    kept."""
    kept: Callable[[], None] | None = None
    """Called once it is durable."""
