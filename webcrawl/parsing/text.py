"""Untrusted text reduced to safe, readable characters, so that it cannot control a terminal or break a file; and
dates.

Dates are parsed as documents write them: RFC 822, RFC 850 and ISO 8601, with the common deviations.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

LOOKED_AT = 8_192
"""Characters that are read of a longer text, so that a page cannot make one line expensive."""

# Control characters, those that change the direction of the following text, and halves of characters (surrogates),
# which no file accepts.
_NOT_TEXT = r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
_CONTROL = re.compile(rf"[\t-\r\x85{_NOT_TEXT}]")
_CONTROL_IN_LINES = re.compile(rf"[{_NOT_TEXT}]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def line(text: str, length_max: int) -> str:
    """Return text in one line: whitespace collapsed, control characters removed, cut."""
    text = " ".join(text[:LOOKED_AT].split())
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    return text[:length_max]


def lines(text: str, length_max: int) -> str:
    """Return text of several lines: each ended by ``\\n`` alone, control characters but tabs removed, cut."""
    text = _LINE_ENDS.sub("\n", text[:length_max])
    return _CONTROL_IN_LINES.sub("", text).strip()


_SHORT = re.compile(r"\d{4}(-\d{2})?")


def epoch_seconds(text: str) -> float | None:
    """Return the moment of a date in epoch seconds: in UTC without a zone, the beginning of the day without a time.

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
        # The library's parser of dates raises on some invalid ones.
        return None


def w3c_seconds(text: str) -> float | None:
    """Return the same for the dates of sitemaps, which may be a year or a month too (W3C NOTE-datetime)."""
    text = text.strip()
    if _SHORT.fullmatch(text):
        text += "-01-01"[len(text) - 4 :]
    return epoch_seconds(text)
