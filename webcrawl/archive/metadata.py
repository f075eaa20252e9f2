"""What a metadata record says of a page: how the crawl came to it, and what it was allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.archive.capture import FetchRecord

UNDER_ROBOTS = frozenset({"page", "sitemap"})
"""Kinds of requests that are made only where robots.txt allows them."""


def facts_of(record: FetchRecord) -> dict[str, object]:
    """The fields of the record, for ``application/warc-fields``: ``via`` and ``fetchTimeMs`` as WARC 1.1 names them
    (section 6.6), the others as the fetch log does.
    """
    facts: dict[str, object] = {"via": record.via} if record.via else {}
    facts |= {
        "fetchTimeMs": round((record.end - record.start) * 1000),
        "kind": record.kind,
        "depth": record.depth,
    }
    extra = record.extra
    if elsewhere := extra.get("content_location"):
        facts["content-location"] = elsewhere
    if (links := extra.get("links")) is not None:
        facts["links"] = links
    if record.kind in UNDER_ROBOTS and record.url.startswith("http"):
        facts["robots"] = "allowed"
    elif record.kind == "robots" and (state := extra.get("robots")) is not None:
        facts["robots"] = state
    if tags := [name for name in ("noindex", "nofollow") if extra.get(name)]:
        facts["robots-tags"] = ", ".join(tags)
    return facts
