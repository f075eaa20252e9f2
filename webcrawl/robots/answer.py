"""The meaning of a fetch of robots.txt for the pages of its origin (RFC 9309, sections 2.3 and 2.4), fail-closed.

No page is fetched unless the robots.txt of its origin is known and fresh or known not to exist. The table of all
outcomes and our answers is in docs/decisions/0005-politeness.md.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from webcrawl.politeness.health import backoff_seconds
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots.rules import RobotsRules, RulesCache
from webcrawl.robots.text import FILES_MARK, MAX_BYTES, decode, longest_delay, product_token, read_for_all

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MAX_BYTES",
    "MAX_REDIRECTS",
    "TTL_SECONDS",
    "Absence",
    "RobotsRules",
    "RobotsState",
    "RobotsVerdict",
    "RulesCache",
    "answered",
    "decode",
    "is_allowed",
    "is_fresh",
    "lifetime",
    "may_fetch",
    "product_token",
    "redirected",
    "unreachable",
]

TTL_SECONDS = 86_400.0
"""Time for which an answer holds at most (RFC 9309, section 2.4)."""

TTL_MIN_SECONDS = 3_600.0
"""Time for which a text holds at least, even if it says that it must not be stored: without it the file would be
requested before each page."""

MAX_REDIRECTS = 5
"""Redirects followed for one robots.txt, across hosts; one more and it is unreachable."""

RETRY_SECONDS = 60.0 / 2**5
"""The first wait, which doubles: as long as after a page that says that its host is busy, see ``Health.busy``."""
COPY_RETRY_SECONDS = 600.0
"""While the last text is in force there is no hurry; and a host that asks for a pause with each robots.txt request
must also receive requests for pages."""
RETRY_MAX_SECONDS = 86_400.0
ABSENT_SECONDS = 30 * 86_400.0
"""The "reasonably long period of time" of RFC 9309, section 2.3.1.4."""

PENDING_SECONDS = 3_600.0
"""Time to wait for a redirect's target before robots.txt is requested anew."""


class RobotsState(StrEnum):
    """The state of an origin's robots.txt."""

    ALLOWED_ALL = "allowed_all"
    """There is none (a 4xx other than 429), or it is treated as missing, see ``Absence``: no restriction."""
    RULES = "rules"
    """There is a text: its rules hold."""
    UNREACHABLE = "unreachable"
    """The robots.txt was not available: nothing is fetched."""
    PENDING = "pending"
    """The robots.txt redirects, and the target is on its way: nothing is fetched yet."""


@dataclass(frozen=True, slots=True)
class Absence:
    """The policy for an origin whose robots.txt is unavailable for long (RFC 9309, section 2.3.1.4).

    Up to ``seconds`` after the last successful fetch its last text stays in force; without one nothing is fetched.
    After that nothing is fetched (``refuse``), the last text stays in force for good (``copy``), or robots.txt is
    treated as missing (``allow``). It is requested all the time.
    """

    seconds: float = ABSENT_SECONDS
    then: Literal["refuse", "copy", "allow"] = "refuse"


_ABSENCE = Absence()


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """The decision if a page may be fetched, with the reason."""

    allowed: bool
    reason: str


def answered(
    origin: str,
    status: int,
    body: bytes,
    now: float,
    *,
    agents: Sequence[str],
    previous: RobotsRecord | None = None,
    ttl: float = TTL_SECONDS,
    ttl_min: float = TTL_MIN_SECONDS,
    fresh_seconds: float | None = None,
    max_bytes: int = MAX_BYTES,
    retry_after: float | None = None,
    absence: Absence = _ABSENCE,
) -> RobotsRecord:
    """Return the record after an HTTP response to a request for robots.txt that is not a redirect to follow.

    2xx: the rules of the body, whatever its type. 4xx but 429: no restriction. Everything else (5xx, 429, a 3xx that
    leads nowhere, a status that does not exist): unreachable, for ``retry_after`` seconds or longer. ``agents`` are
    the crawler's product tokens, by which the Crawl-delay is read. ``fresh_seconds``: how long the response is fresh
    by its Cache-Control; that of an error page is not about robots.txt, and is ignored.
    """
    if 200 <= status <= 299:
        text = decode(body, max_bytes)
        delay = longest_delay(read_for_all(text, agents))
        until = now + lifetime(fresh_seconds, ttl, ttl_min)
        return RobotsRecord(origin, RobotsState.RULES, now, until, text, delay)
    if 400 <= status <= 499 and status != 429:
        return RobotsRecord(origin, RobotsState.ALLOWED_ALL, now, now + ttl)
    return unreachable(origin, previous, now, retry_after=retry_after, absence=absence)


def lifetime(fresh_seconds: float | None, ttl: float, ttl_min: float) -> float:
    """Return for how many seconds a text holds that came with this freshness, None if it names none."""
    return ttl if fresh_seconds is None else min(max(fresh_seconds, ttl_min), ttl)


def unreachable(
    origin: str,
    previous: RobotsRecord | None,
    now: float,
    *,
    retry_after: float | None = None,
    absence: Absence = _ABSENCE,
) -> RobotsRecord:
    """Return the record after robots.txt was not available: a network failure, too many redirects, 5xx, 429.

    It is tried again after ``RETRY_SECONDS`` (``COPY_RETRY_SECONDS`` if a text is in force), doubling up to
    ``RETRY_MAX_SECONDS``, or later if ``retry_after`` is longer. ``fetched_at`` is that of the text in force; without
    one it is when robots.txt was last fetched before it became unreachable, or when it was first found unreachable.
    """
    attempts = previous.attempts if previous is not None else 0
    ends_at = previous.fetched_at + absence.seconds if previous is not None else now
    if previous is not None and _has_copy(previous) and (now < ends_at or absence.then == "copy"):
        wait = backoff_seconds(origin, COPY_RETRY_SECONDS, attempts, RETRY_MAX_SECONDS)
        # The host itself is left alone for as long as it requires, so pages must be fetched after that.
        expires_at = now + wait + min(retry_after or 0.0, RETRY_MAX_SECONDS)
        if absence.then != "copy":
            expires_at = min(expires_at, ends_at)
        return dataclasses.replace(
            previous, state=RobotsState.RULES, expires_at=expires_at, attempts=attempts + 1
        )
    wait = backoff_seconds(origin, RETRY_SECONDS, attempts, RETRY_MAX_SECONDS)
    if retry_after is not None and retry_after > wait:
        wait = min(retry_after, max(RETRY_MAX_SECONDS, wait))
    since = previous.fetched_at if previous is not None and attempts > 0 else now
    absent = absence.then == "allow" and now >= since + absence.seconds
    state = RobotsState.ALLOWED_ALL if absent else RobotsState.UNREACHABLE
    return RobotsRecord(origin, state, since, now + wait, attempts=attempts + 1)


def redirected(
    origin: str, previous: RobotsRecord | None, now: float, *, patience: float = PENDING_SECONDS
) -> RobotsRecord:
    """Return the record while the target of a redirect waits for its turn, often in the queue of another host.

    Nothing is fetched meanwhile. The last text is kept, not in force, for the case that the target is unreachable; if
    no answer comes within ``patience`` seconds, robots.txt is requested again.
    """
    pending = RobotsRecord(origin, RobotsState.PENDING, now, now + patience)
    if previous is None:
        return pending
    pending.attempts = previous.attempts
    if _has_copy(previous) or previous.attempts:
        pending.fetched_at = previous.fetched_at
        # An empty text is a text: one empty line means the same.
        pending.text = previous.text or ("\n" if _has_copy(previous) else "")
        pending.crawl_delay_seconds = previous.crawl_delay_seconds
    return pending


def is_fresh(record: RobotsRecord | None, now: float) -> bool:
    """Return True if robots.txt need not be requested (again) yet, whether it allows or forbids."""
    return record is not None and now < record.expires_at


def may_fetch(record: RobotsRecord | None, rules: RobotsRules | None, url: str, now: float) -> RobotsVerdict:
    """Decide if a page may be fetched now, and why; ``rules`` are those of the record's text."""
    return RobotsVerdict(is_allowed(record, rules, url, now), _reason(record, rules, url, now))


def is_allowed(record: RobotsRecord | None, rules: RobotsRules | None, url: str, now: float) -> bool:
    """Return True if a page may be fetched now; False in doubt. Faster than finding the line that decides."""
    if record is None or not now < record.expires_at or not _has_origin(url, record.origin):
        return False
    if record.state == RobotsState.RULES:
        return rules is not None and rules.allows(url)
    return record.state == RobotsState.ALLOWED_ALL


def _reason(record: RobotsRecord | None, rules: RobotsRules | None, url: str, now: float) -> str:
    if record is None:
        return "robots.txt is not known"
    match RobotsState(record.state):
        case RobotsState.PENDING:
            return "robots.txt redirects and its target is not fetched yet"
        case RobotsState.UNREACHABLE:
            return "robots.txt is unreachable"
        case RobotsState.ALLOWED_ALL | RobotsState.RULES if not now < record.expires_at:
            return "robots.txt must be asked for again"
        case RobotsState.ALLOWED_ALL | RobotsState.RULES if not _has_origin(url, record.origin):
            return "the URL is not of the origin of this robots.txt"
        case RobotsState.ALLOWED_ALL:
            return "there is no robots.txt"
        case RobotsState.RULES if rules is None:
            return "robots.txt is not known"
        case RobotsState.RULES:
            decisive = rules.line_for(url)
            return (
                "robots.txt has no rule for it"
                if decisive is None
                else f"robots.txt line {decisive.line}: {decisive}"
            )


def _has_copy(record: RobotsRecord) -> bool:
    """Return True if a record has a text that was once fetched, be it an empty one."""
    return bool(record.text.partition(FILES_MARK)[0]) or record.state == RobotsState.RULES


def _has_origin(url: str, origin: str) -> bool:
    return url.startswith(origin) and url[len(origin) : len(origin) + 1] in ("/", "?", "#", "")
