"""The values that travel through the frontier: a URL on its way in, a URL in its queue, what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from webcrawl.urls.politeness_key import origin_of


class State(IntEnum):
    """The one state a known URL is in (invariant 3). Leased URLs are stored as queued until they are settled."""

    QUEUED = 0
    DONE = 1
    FAILED = 2
    REFUSED = 3


class Kind(StrEnum):
    """Why a URL is fetched."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    WEBSUB = "websub"
    """A request to a hub."""


def web_origin(url: str) -> str | None:
    """The origin whose robots.txt speaks for ``url``; None for schemes that have none."""
    return origin_of(url) if url.startswith(("http://", "https://")) else None


@dataclass(slots=True)
class UrlEntry:
    """A URL as the frontier stores it.

    ``url`` is what will be fetched (WHATWG-resolved, never the canonical form); ``fingerprint`` is the signed
    64-bit xxh3 of its canonical form; ``key`` its politeness key. ``level`` orders a queue, higher first;
    ``position`` orders a level, lower first, and is given by the frontier's order.
    """

    url: str
    key: str
    fingerprint: int
    level: int = 0
    position: int = 0
    depth: int = 0
    via: str | None = None
    kind: str = "page"
    redirects: int = 0
    """Redirects followed to get here."""
    attempts: int = 0
    """Fetches that failed before."""
    repeat: bool = False
    """Not subject to the seen test (Scrapy's ``dont_filter``)."""
    payload: str | None = None
    """JSON of an ordinary Request's callback, headers, body, ...; None on the batch path."""
    listed: str | None = None
    """What the sitemap that brought it says of it, see ``documents.listed``; None of all others."""
    traits: str | None = None
    """What was known of the link where it was found, in the words of whoever scores it: its level is found again by
    it as long as it is queued. None in crawls without a scorer."""
