"""A host whose every page is 8 MB of what makes a parser keep memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.web.site import Host, Site, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

PAGES = 45
"""After so many pages the crawl is stopped, however long they take."""
PAGE_BYTES = 8_000_000
LINKS = 300
LIMIT_BYTES = 900_000_000
"""The memory that all processes of the crawl may use together: 112 of these pages."""


def build(number: int) -> Site:
    """Return the site."""
    site = Site("memory", number)
    site.add(Host("heavy", _heavy, text("User-agent: *\nDisallow:\n")))
    return site


@functools.cache
def _filling() -> bytes:
    piece = b"&notit;&#x1F600;"
    return piece * (PAGE_BYTES // len(piece))


def _heavy(request: Request, visit: int) -> Answer:
    """Return a page with links to pages that nobody has met."""
    number = int(request.path[2:]) if request.path.startswith("/p") and request.path[2:].isdecimal() else 0
    links = b"".join(b'<a href="/p%d">x</a>\n' % (number * LINKS + n + 1) for n in range(LINKS))
    body = b"<html>\n<p>Page %d</p>" % number + links + b"<html><title>" + _filling()
    return http_answer(200, body)
