"""What a sitemap says of a URL that it lists: when it changed, how often it does, how much it counts on its site.

The words are those of sitemaps.org, protocol 0.9; of feeds the date of an item or entry stands for ``lastmod``. They
are a site's own claims, kept as they are for whoever plans a next visit. What cannot be true is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import NamedTuple

from webcrawl.documents.dates import w3c_seconds

CHANGEFREQS = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
DATES = ("lastmod", "updated", "modified", "pubdate", "date", "published", "issued")
"""Elements that say when something changed; the first that can be read counts."""
ELEMENTS = frozenset({*DATES, "changefreq", "priority"})

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Listed(NamedTuple):
    """A URL as it stands in a sitemap."""

    url: str
    told: str | None = None
    """As an entry of the frontier carries it, see ``told``."""


def told(texts: Mapping[str, str]) -> str | None:
    """What is said by the texts of ``ELEMENTS``, by their names in lower case: JSON, None if nothing is.

    ``lastmod``: epoch seconds; ``changefreq``: a word of ``CHANGEFREQS``; ``priority``: 0 to 1. Never raises.
    """
    facts: dict[str, float | str] = {}
    for name in DATES:
        at = w3c_seconds(texts[name]) if name in texts else None
        if at is not None:
            facts["lastmod"] = int(at) if at.is_integer() else at
            break
    often = texts.get("changefreq", "").strip().lower()
    if often in CHANGEFREQS:
        facts["changefreq"] = often
    priority = _number(texts.get("priority", ""))
    if 0.0 <= priority <= 1.0:
        facts["priority"] = priority
    return _encode(facts) if facts else None


def facts(told: str) -> dict[str, float | str]:
    """The same as the fetch log has it."""
    known: dict[str, float | str] = json.loads(told)
    return known


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
