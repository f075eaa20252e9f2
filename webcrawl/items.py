"""What spiders give: the page as an item, with all its links in one batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.documents.links import Link


@dataclass(slots=True)
class Page:
    """One fetched HTML page. Its ``links`` go to the frontier as they are, without a Request each.

    A spider of one's own yields a Page for the same fast path, and ordinary Requests beside it where a link
    needs a callback, headers or a priority.
    """

    url: str
    status: int
    title: str | None = None
    depth: int = 0
    via: str | None = None
    encoding: str | None = None
    truncated: bool = False
    error: str | None = None
    """Why the page could not be read to its end: hostile markup, a damaged content coding."""
    links: list[Link] = field(default_factory=list)
    noindex: bool = False
    """What the page's author asks for in a meta element: that it be kept out of stores and indexes. Such a page
    reaches no item pipeline and no feed. The header field ``X-Robots-Tag`` is added on the way."""
    nofollow: bool = False
    """Likewise: that none of its links be followed."""
    duplicate_of: str | None = None
    """The URL whose page had the same bytes before. Such a page is not processed: it reaches no item pipeline and no
    feed, and is given only for the sake of its links."""
