"""Dates as documents write them: RFC 822, RFC 850 and ISO 8601, with the liberties that are taken in the wild."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

_SHORT = re.compile(r"\d{4}(-\d{2})?")


def epoch_seconds(text: str) -> float | None:
    """The moment that a date names, in UTC where it names no zone, its beginning where it has no time.

    None if it is no date. Never raises.
    """
    text = text.strip().upper()
    try:
        moment = datetime.fromisoformat(text.removesuffix(" GMT").removesuffix(" UTC"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        forms = (text, f"{text} GMT", f"{text} 00:00:00 GMT")
        parsed = next((parsed for form in forms if (parsed := parsedate_tz(form)) is not None), None)
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, TypeError, IndexError, OverflowError):
        # The library's reader of dates raises on some that are none.
        return None


def w3c_seconds(text: str) -> float | None:
    """The same for the dates of sitemaps, which may be a year or a month too (W3C NOTE-datetime)."""
    text = text.strip()
    if _SHORT.fullmatch(text):
        text += "-01-01"[len(text) - 4 :]
    return epoch_seconds(text)
