"""Moments as people read and write them, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def moment(at: float) -> str:
    """``2026-03-01 12:34:56.789`` of epoch seconds, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "milliseconds")[:-6]


def second(at: float) -> str:
    """``2026-03-01 12:34:56`` of epoch seconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "seconds")[:-6]


def read_moment(text: str, *, ends: bool = False) -> float:
    """Epoch seconds of an ISO 8601 date or date with time; UTC unless it names a zone.

    ``ends``: a date without time stands for the end of that day, not for its beginning. Raises ValueError.
    """
    at = datetime.fromisoformat(text.strip())
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    if ends and len(text.strip()) <= len("2026-03-01"):
        at += timedelta(days=1)
    return at.timestamp()
