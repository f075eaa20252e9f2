"""Numbers and times as readable text; times are in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def count(number: int) -> str:
    """Format ``1234567`` as ``1,234,567``."""
    return f"{number:,}"


def things(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 worker``, ``1,234 workers``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """Format bytes in powers of a thousand: ``23.4 MB``."""
    for unit in _SIZES[:-1]:
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.95 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} {_SIZES[-1]}"


def rate(per_second: float) -> str:
    """Format a rate as ``807/s``; slow rates with a decimal, very slow ones by the minute."""
    if per_second >= 9.95:
        return f"{per_second:,.0f}/s"
    if per_second <= 0:
        return "0/s"
    if per_second >= 0.1:
        return f"{per_second:.1f}/s"
    return f"{per_second * 60:.1f}/min"


def duration(seconds: float) -> str:
    """Format seconds in the two largest useful units: ``8.2 s``, ``3 min 05 s``, ``2 h 10 min``, ``4 d 03 h``."""
    if seconds < 59.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"


def moment_ahead(seconds: float) -> str:
    """Format the seconds until something happens: ``in 0.8 s``, or ``now``."""
    return "now" if seconds < 0.05 else f"in {duration(seconds)}"


def moment(at: float) -> str:
    """Format epoch seconds as ``2026-03-01 12:34:56.789``, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "milliseconds")[:-6]


def second(at: float) -> str:
    """Format epoch seconds as ``2026-03-01 12:34:56``."""
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "seconds")[:-6]


def read_moment(text: str, *, ends: bool = False) -> float:
    """Return the epoch seconds of an ISO 8601 date or date with time; UTC unless it names a zone.

    ``ends``: a date without time stands for the end of that day, not for its beginning. Raises ValueError.
    """
    at = datetime.fromisoformat(text.strip())
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    if ends and len(text.strip()) <= len("2026-03-01"):
        at += timedelta(days=1)
    return at.timestamp()
