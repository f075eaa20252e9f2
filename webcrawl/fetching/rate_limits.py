"""The rate limit that a response of Scrapy's names in its header fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.parsing.text import epoch_seconds
from webcrawl.politeness.rate_limit_fields import FIELDS, quotas
from webcrawl.politeness.rate_limits import RateLimit, rate_limit

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.http.headers import Headers

_NAMES = {name.title().encode(): name for name in FIELDS}
"""The names as Scrapy stores them."""
_SENT = frozenset(_NAMES)


def response_rate_limit(response: Response, now: float) -> RateLimit | None:
    """Return the limits; None if there are none, as in nearly all responses. ``now``: epoch seconds.

    A response that has spent time in a cache says nothing about the quota of this request.
    """
    headers = response.headers
    if _SENT.isdisjoint(headers) or (headers.get(b"Age") or b"0").strip(b" 0"):
        return None
    fields = {
        name: b", ".join(headers.getlist(stored)).decode("latin-1")
        for stored, name in _NAMES.items()
        if stored in headers
    }
    return rate_limit(quotas(fields, _server_time(headers, now)))


def _server_time(headers: Headers, now: float) -> float:
    """Return the time by the server's own clock, by which it has computed the moment of a reset."""
    date = headers.get(b"Date")
    sent = None if date is None else epoch_seconds(date.decode("latin-1"))
    return now if sent is None else sent
