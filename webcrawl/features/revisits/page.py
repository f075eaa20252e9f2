"""What is told of a visit, and what is remembered of a page.

When a page was last modified, as its server says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.parsing.text import epoch_seconds

if TYPE_CHECKING:
    from webcrawl.features.revisits.estimate import History


PageId = tuple[str, int]
"""Politeness key and fingerprint: what stands for a page."""


class Finding(StrEnum):
    """What a visit came to."""

    CAME = "came"
    """The page came, or the word that it is the same as before (304)."""
    GONE = "gone"
    """There is no such page any more (404, 410), or it is somewhere else now (a redirect)."""
    FAILED = "failed"
    """Nothing that says anything about the page: an error, an overloaded server, half a body."""
    REFUSED = "refused"
    """A rule of scope or robots.txt does not let us go there any more; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a page: its content, or the word that it is the same. Header fields are as they were sent."""

    digest: bytes | None
    """What stands for the content; None for 304."""
    etag: str | None
    last_modified: str | None
    date: str | None


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of one page, as it ended. Texts are as the server and the frontier's entry have them."""

    key: str
    fingerprint: int
    url: str
    at: float
    """Epoch seconds when the request was sent; of a refusal, when it was refused."""
    finding: Finding
    digest: bytes | None = None
    """What stands for the content that came; None for 304 and for what did not come."""
    etag: str | None = None
    last_modified: str | None = None
    modified_at: float | None = None
    """When the server says that the page was last modified, in the crawl's own time."""
    kind: str = "page"
    depth: int = 0
    via: str | None = None
    payload: str | None = None
    """The text of the ordinary Request that the page was asked for with, without what makes it a revisit."""
    stored_at: float | None = None
    """When what came was asked for the first time, where the archive has it from then; None for now."""

    @property
    def id(self) -> PageId:
        return self.key, self.fingerprint


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is visited again and again. Times are epoch seconds."""

    key: str
    fingerprint: int
    url: str
    history: History
    next_visit_at: float
    digest: bytes
    came_at: float
    """When the content that is known was asked for: its WARC-Date in the archive."""
    etag: str | None = None
    last_modified: str | None = None
    """Both as the server sent them with that content, to be sent back (RFC 9110, section 13.1)."""
    kind: str = "page"
    depth: int = 0
    via: str | None = None
    payload: str | None = None
    gone: int = 0
    """Visits in a row that found it gone."""
    failed: int = 0
    """Visits in a row that failed or were refused."""

    @property
    def id(self) -> PageId:
        return self.key, self.fingerprint


EARLIEST = 631_152_000.0
"""1990: before that there was no page, and servers that know no time say 1970."""


def modified_at(last_modified: str | None, date: str | None, at: float) -> float | None:
    """The moment that ``Last-Modified`` names, in the crawl's own time; None where it names none that can be true.

    ``date`` is the ``Date`` of the same response, by which a server's wrong clock is made good, and ``at`` when the
    response came (RFC 9110, sections 8.8.2 and 6.6.1).
    """
    modified = None if last_modified is None else epoch_seconds(last_modified)
    if modified is None:
        return None
    theirs = None if date is None else epoch_seconds(date)
    moment = at - ((at if theirs is None else theirs) - modified)
    return moment if EARLIEST <= moment <= at else None
