"""The lines of a URL in the fetch logs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.urls.canonical import DEFAULT, CanonicalRules, canonical
from webcrawl.urls.politeness_key import get_origin

KEPT = 5


@dataclass(frozen=True, slots=True)
class LoggedFetches:
    """The lines of a URL, in whatever spelling it was requested."""

    count: int
    last: tuple[Mapping[str, Any], ...]
    """The last ``KEPT`` lines by their end times, oldest first."""
    first: Mapping[str, Any] | None = None
    """The line that ended before all others."""
    ip: str | None = None
    """The last address at which the host of these lines was contacted."""


def logged_fetches(
    lines: Iterable[Mapping[str, Any]], form: str, rules: CanonicalRules = DEFAULT, kept: int = KEPT
) -> LoggedFetches:
    """``lines``: of one log or of several, one after the other; lines without a URL are skipped.

    ``form``: the canonical form of the URL.
    """
    count = 0
    first: Mapping[str, Any] | None = None
    ip, ip_at = None, 0.0
    begin = f"{get_origin(form)}/"
    last: list[tuple[float, int, Mapping[str, Any]]] = []
    for line in lines:
        url = line.get("url")
        if isinstance(url, str) and url.startswith(begin) and line.get("ip") and _ended_at(line) >= ip_at:
            ip, ip_at = str(line["ip"]), _ended_at(line)
        if isinstance(url, str) and (url == form or canonical(url, rules) == form):
            count += 1
            if first is None or _ended_at(line) < _ended_at(first):
                first = line
            heapq.heappush(last, (_ended_at(line), count, line))
            if len(last) > kept:
                heapq.heappop(last)
    return LoggedFetches(
        count, tuple(line for _, _, line in sorted(last, key=lambda item: item[:2])), first, ip
    )


def _ended_at(line: Mapping[str, Any]) -> float:
    end = line.get("end")
    return float(end) if isinstance(end, int | float) else 0.0
