"""Values of revisits: a visit, its result, a remembered page, and the page's last modification as its
server sent it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.parsing.text import epoch_seconds

if TYPE_CHECKING:
    from webcrawl.features.revisits.estimate import History


PageId = tuple[str, int]
"""Politeness key and fingerprint: identify a page."""


class VisitOutcome(StrEnum):
    """Result of a visit."""

    CAME = "came"
    """The page, or the confirmation that it is unchanged (304)."""
    GONE = "gone"
    """The page no longer exists (404, 410), or has moved (a redirect)."""
    FAILED = "failed"
    """No information about the page: an error, an overloaded server, an incomplete body."""
    REFUSED = "refused"
    """A scope rule or robots.txt no longer allows the page; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A completed visit of a page. Texts are as the server and the frontier's entry have them."""

    key: str
    fingerprint: int
    url: str
    at: float
    """Epoch seconds when the request was sent, or when it was refused."""
    finding: VisitOutcome
    digest: bytes | None = None
    """Digest of the content; None for 304 and without a response."""
    etag: str | None = None
    last_modified: str | None = None
    modified_at: float | None = None
    """Time of the last modification as the server sent it, corrected to the crawl's clock."""
    kind: str = "page"
    depth: int = 0
    via: str | None = None
    payload: str | None = None
    """The ordinary Request by which the page was requested, as text, without the data of the revisit."""
    fresh_seconds: float | None = None
    """The time for which the response is fresh by its Cache-Control or Expires; None if it does not say."""
    stored_at: float | None = None
    """The time of the first request of this content, if the archive has it from then; None if it is stored now."""

    @property
    def id(self) -> PageId:
        return self.key, self.fingerprint


@dataclass(frozen=True, slots=True)
class RevisitedPage:
    """A page that is visited repeatedly. Times are epoch seconds."""

    key: str
    fingerprint: int
    url: str
    history: History
    next_visit_at: float
    digest: bytes
    came_at: float
    """The time at which the known content was requested: its WARC-Date in the archive."""
    etag: str | None = None
    last_modified: str | None = None
    """Both validators as the server sent them with that content, to be sent back (RFC 9110, section 13.1)."""
    kind: str = "page"
    depth: int = 0
    via: str | None = None
    payload: str | None = None
    fresh_seconds: float | None = None
    """The time for which the content was fresh after the last visit by its Cache-Control or Expires; None if it did
    not say."""
    gone: int = 0
    """Consecutive visits that found it gone."""
    failed: int = 0
    """Consecutive visits that failed or were refused."""

    @property
    def id(self) -> PageId:
        return self.key, self.fingerprint


EARLIEST = 631_152_000.0
"""1990: there were no pages before, and servers without a clock send 1970."""


def modified_at(last_modified: str | None, date: str | None, at: float) -> float | None:
    """Return the time in ``Last-Modified``, corrected to the crawl's clock; None if it is missing or cannot be true.

    ``date`` is the ``Date`` of the same response, by which a server's wrong clock is corrected, and ``at`` the time
    of the response (RFC 9110, sections 8.8.2 and 6.6.1).
    """
    modified = None if last_modified is None else epoch_seconds(last_modified)
    if modified is None:
        return None
    theirs = None if date is None else epoch_seconds(date)
    moment = at - ((at if theirs is None else theirs) - modified)
    return moment if EARLIEST <= moment <= at else None
