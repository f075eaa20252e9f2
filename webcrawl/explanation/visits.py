"""What a fetch log has of one URL, in memory that does not grow with the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.urls.canonical import DEFAULT, CanonicalRules, canonical

KEPT = 5


@dataclass(frozen=True, slots=True)
class Visits:
    """The lines of a URL, in whatever spelling it was requested."""

    count: int
    last: tuple[Mapping[str, Any], ...]
    """The last ``KEPT`` of them, oldest first."""


def visits_of(
    lines: Iterable[Mapping[str, Any]], form: str, rules: CanonicalRules = DEFAULT, kept: int = KEPT
) -> Visits:
    """``form``: the canonical form of the URL. Lines that have no URL are passed over."""
    count, last = 0, deque[Mapping[str, Any]](maxlen=kept)
    for line in lines:
        url = line.get("url")
        if isinstance(url, str) and (url == form or canonical(url, rules) == form):
            count += 1
            last.append(line)
    return Visits(count, tuple(last))
