"""The values that travel through the frontier: URL entries, their states and kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

from webcrawl.urls.politeness_key import get_origin


class State(IntEnum):
    """The one state a known URL is in (invariant 3). Leased URLs are stored as queued until they are settled."""

    QUEUED = 0
    DONE = 1
    FAILED = 2
    REFUSED = 3


class UrlRecord(NamedTuple):
    """The stored record of a known URL."""

    state: State
    rule: str | None = None
    """The rule that refused it or the error with which it failed; None if there is none, or it is not stored."""
    status: int | None = None
    """The HTTP status of the last response to a request for it, redirects, repeats and revisits included; None if it
    was never answered, or if it is not stored. A URL that was pruned from a full queue counts as never requested."""

    def facts(self) -> dict[str, Any]:
        """Return its fields as plain values, for JSON."""
        return self._asdict() | {"state": self.state.name.lower()}

    def __str__(self) -> str:
        state = self.state.name.lower()
        more = "" if self.status is None else f", status {self.status}"
        return f"{state} ({self.rule}){more}" if self.rule else f"{state}{more}"


QUEUED = UrlRecord(State.QUEUED)
"""The record of a URL that was never settled."""


class Kind(StrEnum):
    """The purpose for which a URL is fetched."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    WEBSUB = "websub"
    """A request to a hub."""
    INLINE = "inline"
    """An inline request: a callback, a pipeline or a middleware waits for its response. It is never stored."""


_EMBED = '{"embed":'


def embed_mark(hops: int) -> str:
    """Return the mark of an embed for ``UrlEntry.listed``. ``hops``: from the page, 1 for what it embeds itself."""
    return f"{_EMBED}{hops}}}"


RELEASED = '{"released":true}'
"""The mark, for ``UrlEntry.listed``, of a URL that a learned rule had withheld and that is fetched all the same: no
such rule is asked again when its turn comes, since a process may not know yet that a rule counts no more."""


@dataclass(slots=True)
class UrlEntry:
    """A URL as the frontier stores it.

    ``url`` is the URL to fetch (WHATWG-resolved, never the canonical form); ``fingerprint`` is the signed 64-bit xxh3
    of its canonical form; ``key`` its politeness key. ``level`` orders a queue, higher first; ``position`` orders a
    level, lower first, and is given by the frontier's order.

    The fields from ``payload`` on are the carried values, see ``CARRIED``: a further one is added at the end.
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
    """True if it is not subject to the seen test (Scrapy's ``dont_filter``)."""
    payload: str | None = None
    """JSON of an ordinary Request's callback, headers, body, ...; None on the batch path."""
    listed: str | None = None
    """Facts from the place where it was found, as JSON: the hints of the sitemap that listed it, see
    ``parsing.sitemap.encoded_hints``, the mark of an embed, see ``embed_mark``, or ``RELEASED``; None for all others.
    """
    link_features: str | None = None
    """The features of the link where it was found, in the scorer's format, by which its level is computed again as
    long as it is queued. None in crawls without a scorer."""

    @property
    def embed_hops(self) -> int:
        """Return the number of embeds in sequence that led here from a page, as a style sheet embeds a font; 0 if it
        is linked."""
        if self.listed is None or not self.listed.startswith(_EMBED):
            return 0
        return int(self.listed[len(_EMBED) : -1])

    @property
    def origin(self) -> str | None:
        """The origin whose robots.txt applies to it; None for a URL to which no rules of hosts apply (``data:``,
        ``file:``): its key is its scheme.
        """
        if self.key.endswith(":") or "://" not in self.url:
            return None
        try:
            return get_origin(self.url)
        except ValueError:
            return None


_NAMES = [item.name for item in fields(UrlEntry)]
_STORED_NAMES = {"link_features": "traits"}
"""The stored names of carried values, where they differ from the fields of ``UrlEntry``."""
CARRIED: Mapping[str, str] = {
    name: _STORED_NAMES.get(name, name) for name in _NAMES[_NAMES.index("payload") :]
}
"""The carried values of an entry, texts or None, which storages only store and return: the fields of ``UrlEntry``,
each with its stored name, which is that of its column in SQLite and of its field in a segment. They are in the order
in which they were added, by which Redis numbers them."""
carried_values = attrgetter(*CARRIED)
"""Return the carried values of an entry, in the order of ``CARRIED``."""
NOTHING_CARRIED: tuple[str | None, ...] = (None,) * len(CARRIED)
