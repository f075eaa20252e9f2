"""When a page was last modified, as its server says."""

from __future__ import annotations

from webcrawl.documents.dates import epoch_seconds

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
