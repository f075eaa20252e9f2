"""The store of a crawl of a segment: a line for each URL that a page, a redirect or a sitemap brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.archive.linefile import LineFile
from webcrawl.frontier.records import UrlEntry
from webcrawl.segments.line import line_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.archive.capture import Entry

NAME = "found.jsonl"


class FoundUrls(LineFile):
    """``found.jsonl``: lines as those of a segment. Durable before the URL that brought them is done; what was in
    flight at a crash may be there twice."""

    name = NAME

    def lines(self, entry: Entry) -> Iterable[bytes]:
        return (line_of(UrlEntry(*row)).encode("ascii") for row in entry.found)
