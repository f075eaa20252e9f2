"""Judgements from the server's access log: was the crawler polite, and did it fetch each page once?"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.fakeweb.log import Hit


@dataclass(frozen=True, slots=True)
class Violation:
    """Two requests to one key that should not have come so close to each other."""

    kind: Literal["overlap", "gap"]
    key: str
    before: Hit
    after: Hit
    gap: float
    """Seconds from the end of ``before`` to the start of ``after``; negative where they overlap."""
    owed: float
    """Seconds the key was owed after ``before``."""


def host_of(hit: Hit) -> str:
    """Return the host: the politeness key when every host is its own."""
    return hit.host


def violations(
    log: Iterable[Hit],
    delay_of: Callable[[Hit], float],
    key_of: Callable[[Hit], str] = host_of,
    *,
    tolerance: float = 0.0,
) -> list[Violation]:
    """List every pair of requests to one key that overlapped or came too close.

    ``delay_of`` tells how many seconds were owed after a given request. ``tolerance`` (seconds) is taken off
    what is owed; it excuses no overlap. A key's requests are looked at in the order of their arrival, each
    against the latest end among those before it.
    """
    found = []
    for key, hits in by_key(log, key_of).items():
        latest: Hit | None = None
        for hit in hits:
            if latest is not None:
                gap = hit.start_mono - latest.end_mono
                owed = delay_of(latest)
                if gap < 0:
                    found.append(Violation("overlap", key, latest, hit, gap, owed))
                elif gap < owed - tolerance:
                    found.append(Violation("gap", key, latest, hit, gap, owed))
            if latest is None or hit.end_mono > latest.end_mono:
                latest = hit
    return found


def by_key(log: Iterable[Hit], key_of: Callable[[Hit], str] = host_of) -> dict[str, list[Hit]]:
    """Return the hits of each key, in the order of their arrival."""
    keys: dict[str, list[Hit]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.start_mono):
        keys[key_of(hit)].append(hit)
    return keys


def pages_before_robots(log: Iterable[Hit]) -> list[Hit]:
    """List the page requests that came before a robots.txt of their origin had been answered completely."""
    known: dict[tuple[str, str], float] = {}
    hits = sorted(log, key=lambda hit: hit.start_mono)
    for hit in hits:
        if hit.is_robots and hit.complete:
            origin = (hit.scheme, hit.host)
            known[origin] = min(known.get(origin, hit.end_mono), hit.end_mono)
    never = float("inf")
    return [
        hit for hit in hits if not hit.is_robots and hit.start_mono < known.get((hit.scheme, hit.host), never)
    ]


def url_of(hit: Hit) -> str:
    """Return scheme, host and path; the port is left out, for there is one server."""
    return f"{hit.scheme}://{hit.host}{hit.path}"


def repeated(log: Iterable[Hit]) -> dict[str, int]:
    """Return the pages asked for more than once, with how often; robots.txt is not counted."""
    counts = Counter(url_of(hit) for hit in log if not hit.is_robots)
    return {url: count for url, count in counts.items() if count > 1}


def most_open(log: Iterable[Hit], key_of: Callable[[Hit], str] = host_of) -> int:
    """Return the largest number of requests that were open at one time to one key."""
    most = 0
    for hits in by_key(log, key_of).values():
        changes = sorted([(hit.start_mono, 1) for hit in hits] + [(hit.end_mono, -1) for hit in hits])
        now_open = 0
        for _, change in changes:
            now_open += change
            most = max(most, now_open)
    return most
