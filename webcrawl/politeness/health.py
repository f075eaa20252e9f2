"""Parking and giving up of keys whose host fails or asks for a pause: parked for growing times, at last given up.

No queued URL is lost by it: a parked key only waits, and the URLs of a key that was given up stay queued.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from webcrawl.politeness.host_record import HostRecord

FAILURES: Mapping[str, str] = MappingProxyType(
    {
        "dns": "the name has no address, or the name servers did not answer",
        "connection-refused": "the host refused the connection",
        "unreachable": "there is no route to the host or its network",
        "timeout": "connecting, the head or the body took longer than the timeout",
        "tls": "the TLS handshake or the certificate was not acceptable",
        "reset": "the connection was cut before the response was whole",
        "empty": "the connection was closed without a byte of a response",
        "protocol": "what came is not of the protocol that was spoken, or breaks a limit of it",
        "login": "the server refused the login",
        "data-connection": "the second connection of an FTP transfer could not be opened",
        "private": "the address is private or loopback and not allowed by the operator",
        "unsupported": "the scheme or the content coding is not one the crawler speaks",
        "cancelled": "the crawler itself ended the request before a response",
        "other": "a failure of no known kind; the error log has it",
    }
)
"""The words that ``fetch.jsonl`` uses for a request without a response, each with its meaning."""

HOST_FAILURES = frozenset(FAILURES) - {"private", "unsupported", "cancelled"}
"""The failures that count against a host. An unknown one counts: in doubt a host is left alone."""

TOO_MANY_REQUESTS = 429
RETRY_AFTER_MAX_SECONDS = 86_400.0
REFUSED_REST_SECONDS = 86_400.0
"""Time for which a host that refuses the crawler is left alone."""
JITTER = 0.1


def backoff_seconds(key: str, base_seconds: float, times: int, max_seconds: float) -> float:
    """Return ``base_seconds`` doubled ``times`` times, at most ``max_seconds``, plus up to 10 % jitter.

    The jitter keeps keys that failed together from coming back together; being a hash of the key it is the same in a
    test, a replay and on another worker, and a longer back-off is always the longer one.
    """
    share = zlib.crc32(key.encode("utf-8", "surrogatepass")) / 2**32
    return min(base_seconds * 2.0 ** min(max(times, 0), 64), max_seconds) * (1 + JITTER * share)


@dataclass(frozen=True, slots=True)
class Health:
    """The rules by which a host is parked and given up.

    After ``failures_to_park`` failures in a row the key rests for ``park_seconds``, and from then on after each
    further failure for twice as long as before, at most ``park_max_seconds`` (plus jitter); one success forgives
    that. A key parked more than ``parks_to_give_up`` times in a row is given up (0: never); one that never sent any
    response is given up as soon as the try after its first park fails.

    The back-off of a host that asks for a pause without a length is forgiven only after quiet: when it has asked for
    none for as long again as it was last left alone.

    A host that refuses the crawler has ``requests_while_refused`` requests, robots.txt included. Then it is left
    alone for a day, and has as many again (0: no limit). A page that it gives ends that.
    """

    failures_to_park: int = 5
    park_seconds: float = 60.0
    park_max_seconds: float = 86_400.0
    parks_to_give_up: int = 5
    requests_while_refused: int = 3

    def succeeded(self, record: HostRecord) -> None:
        """Note a response that asks for no pause."""
        record.answered = True
        record.failures = 0
        record.parks = 0
        record.given_up = False
        record.last_error = None

    def failed(self, record: HostRecord, error: str, now: float) -> None:
        """Note a request that ended without a response; ``error`` is a word of ``FAILURES``.

        Only ``HOST_FAILURES`` count; an unknown word counts like ``other``.
        """
        record.last_error = error
        if error in HOST_FAILURES or error not in FAILURES:
            self._count(record, now, 0.0)

    def busy(
        self,
        record: HostRecord,
        now: float,
        retry_after: float | None,
        *,
        status: int = TOO_MANY_REQUESTS,
        again: bool = False,
    ) -> None:
        """Note a 429 or 503; ``retry_after`` is the required pause in seconds, None if it named none.

        ``again``: the URL has failed before. Unless the key is parked that tells nothing new about the host: the key
        is blocked for as long as the last time, and the answer is not one more in a row. Each URL is tried a few
        times only.

        The key is blocked for that long, at most 24 h. Without a length it is blocked for a time that doubles each
        time until it is forgiven, and is ``park_seconds`` when so many came in a row that it is parked: one page that
        always fails does not stop its site. After a success a 503 does not double it, since the host is not busy as a
        whole: pages that always fail cost their site the same each, however many they are. A 429 does, since it is
        about the requests before.
        """
        record.answered = True
        record.last_error = "busy"
        counts = not again or record.parks > 0
        if retry_after is None or math.isnan(retry_after):
            if now >= record.forgiven_at:
                record.backoffs = 0
            first = self.park_seconds / 2.0 ** max(self.failures_to_park, 0)
            times = record.backoffs if counts else max(record.backoffs - 1, 0)
            if status != TOO_MANY_REQUESTS:
                times = min(times, record.failures)
            wait = backoff_seconds(record.key, first, times, self.park_max_seconds)
            record.backoffs = max(record.backoffs, times + 1)
        else:
            wait = max(0.0, min(retry_after, RETRY_AFTER_MAX_SECONDS))
            if math.isfinite(now):
                record.asked_until = max(record.asked_until, now + wait)
        if math.isfinite(now):
            record.forgiven_at = max(record.forgiven_at, now + 2 * wait)
        if counts:
            self._count(record, now, wait)
        else:
            self._block(record, now, wait)

    def refused(self, record: HostRecord, kind: str, now: float, retry_after: float | None = None) -> bool:
        """Note a response by which the host refuses the crawler as a whole; ``kind`` is a word of ``refusals.KINDS``,
        ``retry_after`` the required pause in seconds, None if it named none.

        Returns True if the host is left alone for the first time since it last gave a page.
        """
        record.answered = True
        record.last_error = kind
        if not record.refusals:
            record.refusal_base = record.fetches - 1 if record.pages else 0
        record.refusals += 1
        if retry_after is not None and math.isfinite(retry_after) and math.isfinite(now):
            wait = max(0.0, min(retry_after, RETRY_AFTER_MAX_SECONDS))
            record.asked_until = max(record.asked_until, now + wait)
            self._block(record, now, wait)
        return self.while_refused(record, now)

    def while_refused(self, record: HostRecord, now: float) -> bool:
        """Note that a request to a host that refuses has ended without a page. Returns the same as ``refused``."""
        if not 0 < self.requests_while_refused <= record.fetches - record.refusal_base:
            return False
        record.refusal_base = record.fetches
        record.refusal_rests += 1
        self._block(record, now, REFUSED_REST_SECONDS)
        return record.refusal_rests == 1

    @staticmethod
    def welcomed(record: HostRecord) -> None:
        """Note a page: the host does not refuse the crawler, or not any more."""
        record.refusals = record.refusal_base = record.refusal_rests = 0

    def unpark(self, record: HostRecord, now: float) -> None:
        """Let a host that is parked or given up be contacted again, as an operator asks: after its delay, and not
        before a time that it has named. Its failures are forgiven."""
        record.given_up = record.parked = False
        record.blocked_until = 0.0
        record.failures = record.parks = record.backoffs = 0
        self.welcomed(record)
        record.next_fetch_at = min(record.next_fetch_at, max(now + record.delay_seconds, record.asked_until))

    def _count(self, record: HostRecord, now: float, wait: float) -> None:
        record.failures += 1
        if record.parks > 0 or record.failures >= self.failures_to_park:
            park = backoff_seconds(record.key, self.park_seconds, record.parks, self.park_max_seconds)
            wait = max(wait, park)
            record.parks += 1
            limit = self.parks_to_give_up if record.answered else min(self.parks_to_give_up, 1)
            record.given_up = 0 < limit < record.parks
        self._block(record, now, wait)

    @staticmethod
    def _block(record: HostRecord, now: float, wait: float) -> None:
        if math.isfinite(now):
            record.next_fetch_at = max(record.next_fetch_at, now + wait)


def retry_after_seconds(value: str | bytes | None, now: float) -> float | None:
    """Read a Retry-After header (RFC 9110, section 10.2.3): seconds, or a date in any HTTP form.

    Returns 0 for a date in the past, None for anything that has neither form. Not capped: see ``Health.busy``.
    """
    if value is None:
        return None
    text = (value.decode("latin-1") if isinstance(value, bytes) else value).strip()
    if text.isascii() and text.isdigit():
        return min(float(text), 1e9)
    date = http_date(text)
    return None if date is None else max(0.0, date - now)


def http_date(text: str) -> float | None:
    """Return the epoch seconds of a date in any HTTP form; None if it is none."""
    try:
        date: datetime = parsedate_to_datetime(text)
        if date.tzinfo is None:  # The asctime form names no zone; all HTTP dates are UTC.
            date = date.replace(tzinfo=UTC)
        return date.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
