"""The bandwidth limit: the bytes per second that a crawl receives, over all of its connections.

There are two token buckets. The first one is charged with the bytes that connections receive: while it is in debt, a
connection that has read is paused, and the paused ones take turns. TCP slows their servers. The second one decides
when a request may begin: it is charged with the mean size of a response of its kind, which is corrected by what
comes. Without it hundreds of responses would come at once into the buffers of the system, whatever is read.

The buckets are pure: ``now`` is an argument. ``Bandwidth`` applies them to the connections of one process. Of a crawl
in several processes each has a share, which the storage grants it for a time (``granted``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from webcrawl.config import setting_value
from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import BandwidthShare, uptime

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

SETTING = "BANDWIDTH_MAX"
BURST_SECONDS = 0.15
"""Time whose unused bytes are kept: they are 1.5 % of those of 10 s."""
DEBT_SECONDS = 1.0
"""The most debt, as time at the new rate, that outlives a change of the limit."""
BEGIN_DEBT_SECONDS = 0.2
"""The debt of received bytes, as time, with which requests still begin."""
AHEAD = 1.1
"""Requests begin at this multiple of the rate; the excess waits to be read, which keeps the rate used."""
TURN_SECONDS = 0.01
"""The shortest interval in seconds between two turns of paused connections."""
BLOCKED_SECONDS = 0.02
"""Seconds during which no request begins while enough connections wait for their turn."""
RECHECK_SECONDS = 0.2
"""The longest interval in seconds at which waiting is reconsidered: the rate may have changed."""
FIRST_RESPONSE_BYTES, FIRST_ROBOTS_BYTES = 64 << 10, 2 << 10
"""The sizes of a response and of a robots.txt that are assumed until some have ended."""
REMEMBERED_RESPONSES = 32
"""About how many responses the mean size is of."""
WAITING_SECONDS = 1 / 8
"""The time at the limit that the buffers of all connections hold that wait for their turn."""
BUFFER_LEAST, BUFFER_MOST = 8 << 10, 192 << 10
"""The size in bytes of the receive buffers of connections; where a larger one would do, the system chooses it."""
BUFFER_SECONDS = 1 / 32
"""The time at the limit that one receive buffer holds."""
MEASURED_SECONDS = 5
"""The number of seconds over which ``used`` is averaged."""


class TokenBucket:
    """Bytes that may be received: ``rate`` more each second, kept for ``burst_seconds``. They may be overdrawn."""

    def __init__(self, rate: float, now: float, burst_seconds: float = BURST_SECONDS) -> None:
        self._rate = rate
        self._burst_seconds = burst_seconds
        self._balance = 0.0
        self._at = now

    def balance(self, now: float) -> float:
        """Return the bytes that may be received; below 0 a debt. A clock that jumps back adds nothing."""
        if now > self._at:
            self._balance += self._rate * (now - self._at)
        self._at = now
        self._balance = min(self._balance, self._rate * self._burst_seconds)
        return self._balance

    def spend(self, size: float, now: float) -> float:
        """Take ``size`` bytes, which may be negative, and return the balance."""
        self._balance = self.balance(now) - size
        return self._balance

    def seconds_until_free(self, now: float, debt_seconds: float = 0.0) -> float:
        """Return how long it will be until the debt is no more than the bytes of ``debt_seconds``; infinite at a rate
        of 0.
        """
        if self._rate <= 0:
            return inf
        return max(-self.balance(now) / self._rate - debt_seconds, 0.0)

    def set_rate(self, rate: float, now: float) -> None:
        """Change the rate from now on. A debt that would last long at the new rate is shortened."""
        self.balance(now)
        self._rate = rate
        self._balance = min(max(self._balance, -rate * DEBT_SECONDS), rate * self._burst_seconds)


class UsedRate:
    """The mean rate of the last ``MEASURED_SECONDS`` whole seconds."""

    def __init__(self, now: float) -> None:
        self._since = now
        self._second = 0
        self._current = 0
        self._last: deque[int] = deque(maxlen=MEASURED_SECONDS)

    def add(self, size: int, now: float) -> None:
        """Count bytes."""
        self._turn(now)
        self._current += size

    def rate(self, now: float) -> float:
        """Return the bytes per second."""
        self._turn(now)
        return sum(self._last) / len(self._last) if self._last else float(self._current)

    def _turn(self, now: float) -> None:
        second = int(now - self._since)
        if second > self._second:
            for passed in range(min(second - self._second, MEASURED_SECONDS + 1)):
                self._last.append(0 if passed else self._current)
            self._current, self._second = 0, second


class Slowed(Protocol):
    """A transfer that the limit pauses."""

    def slow_down(self) -> None:
        """Stop reading until ``go_on``."""
        ...

    def go_on(self) -> None:
        """Read on."""
        ...


class Bandwidth:
    """The limit of one crawl, as this process applies it. All methods are called on the event loop."""

    def __init__(
        self,
        limit: float = 0,
        clock: Callable[[], float] = monotonic,
        later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        """``limit``: bytes per second, 0 for none. ``later``: calls a function after so many seconds; the event loop
        does if it is None.
        """
        self._clock = clock
        self._later = later
        self.limit = 0.0
        """Bytes per second of the whole crawl; 0 for none."""
        self.is_on = False
        """True if there is a limit."""
        self._is_shared = False
        self._share, self._share_ends_at = 0.0, -inf
        self._received = TokenBucket(0, clock())
        self._begun = TokenBucket(0, clock())
        self._used = UsedRate(clock())
        self._means: dict[str, float] = {}
        """Bytes of a response by kind of request."""
        self._waiting: deque[tuple[Slowed, int]] = deque()
        self._is_timed = False
        """True if ``_turn`` will be called."""
        self._was_short = False
        self.set_limit(limit)

    def set_limit(self, bytes_per_second: float) -> None:
        """Change the limit of the crawl while it runs; 0 for none."""
        self.limit = max(float(bytes_per_second), 0.0)
        self.is_on = self.limit > 0
        self._apply()
        if not self.is_on:
            self._resume_all()

    @property
    def rate(self) -> float:
        """The bytes per second that this process may receive now, infinite without a limit."""
        if not self.is_on:
            return inf
        if not self._is_shared:
            return self.limit
        return min(self._share, self.limit) if uptime() < self._share_ends_at else 0.0

    @property
    def used(self) -> float:
        """The bytes per second that this process received in the last seconds; 0 without a limit, since nothing is
        counted then.
        """
        return self._used.rate(self._clock()) if self.is_on else 0.0

    @property
    def buffer_bytes(self) -> int | None:
        """The receive buffer of new connections in bytes; None to leave it to the system."""
        if not self.is_on:
            return None
        wanted = int(self.rate * BUFFER_SECONDS)
        return None if wanted > BUFFER_MOST else max(wanted, BUFFER_LEAST)

    # -- several processes -----------------------------------------------------------------------------------

    def share_with_others(self) -> None:
        """Receive nothing but what is ``granted``: other processes work on the crawl."""
        self._is_shared = True
        self._apply()

    def granted(self, share: BandwidthShare) -> None:
        """Take a share of the limit."""
        self._share, self._share_ends_at = share
        self._apply()

    def figures(self) -> dict[str, float]:
        """Return the figures for the other processes and for display: the limit, the bytes per second that were used,
        and those that would be (-1 for all there are); none without a limit.
        """
        if not self.is_on:
            return {}
        used = self.used
        wanted = -1.0 if self._was_short or self._waiting else used
        self._was_short = False
        return {
            "bandwidth_limit": self.limit,
            "bandwidth_used": round(used),
            "bandwidth_wanted": round(wanted),
        }

    # -- requests --------------------------------------------------------------------------------------------

    def seconds_until_begin(self) -> float:
        """Return how long in seconds no request should begin; 0 if one may now."""
        now = self._clock()
        self._look_at_share(now)
        if len(self._waiting) >= self._most_waiting():
            self._was_short = True
            return BLOCKED_SECONDS
        left = max(
            self._begun.seconds_until_free(now), self._received.seconds_until_free(now, BEGIN_DEBT_SECONDS)
        )
        if left > 0:
            self._was_short = True
        return min(left, RECHECK_SECONDS)

    def reserve(self, kind: str) -> float:
        """Charge a request that begins, and return the bytes that are reserved for its response."""
        mean = self._mean(kind)
        self._begun.spend(mean, self._clock())
        return mean

    def settle(self, kind: str, reserved: float, received: int) -> None:
        """End a request, of which ``reserved`` bytes are left; ``received``: the bytes that came."""
        if received:
            mean = self._mean(kind)
            self._means[kind] = mean + (received - mean) / REMEMBERED_RESPONSES
        if reserved:
            self._begun.spend(-reserved, self._clock())

    def _mean(self, kind: str) -> float:
        if (mean := self._means.get(kind)) is not None:
            return mean
        return (
            FIRST_ROBOTS_BYTES
            if kind == Kind.ROBOTS
            else min(FIRST_RESPONSE_BYTES, self.rate * WAITING_SECONDS)
        )

    # -- reading ---------------------------------------------------------------------------------------------

    def received(self, size: int, reserved: float, slowed: Slowed | None) -> float:
        """Charge bytes that came. Return what is left of the ``reserved`` bytes of the request.

        ``slowed``: the transfer, which is paused if it must wait for more; None if it has ended.
        """
        now = self._clock()
        self._look_at_share(now)
        self._used.add(size, now)
        balance = self._received.spend(size, now)
        left = reserved - size
        if left < 0:
            self._begun.spend(-left, now)
        if slowed is not None and (balance < 0 or self._waiting):
            self._was_short = True
            self._waiting.append((slowed, size))
            slowed.slow_down()
            self._wait(now)
        return max(left, 0.0)

    def forget(self, slowed: Slowed) -> None:
        """Remove a transfer that has ended."""
        self._waiting = deque(one for one in self._waiting if one[0] is not slowed)

    # -- turns -----------------------------------------------------------------------------------------------

    def _apply(self) -> None:
        """Use the present rate."""
        now, rate = self._clock(), self.rate
        self._received.set_rate(0.0 if rate == inf else rate, now)
        self._begun.set_rate(0.0 if rate == inf else rate * AHEAD, now)

    def _look_at_share(self, now: float) -> None:
        """Stop when the share of this process has ended: others may have it."""
        if self._is_shared and self._share and uptime() >= self._share_ends_at:
            self._share = 0.0
            self._received.set_rate(0.0, now)
            self._begun.set_rate(0.0, now)

    def _most_waiting(self) -> float:
        """Return how many connections may wait, by the bytes that their buffers hold."""
        return max(1.0, self.rate * WAITING_SECONDS / (self.buffer_bytes or BUFFER_MOST))

    def _wait(self, now: float) -> None:
        if self._is_timed or not self._waiting:
            return
        self._is_timed = True
        # The rate may change meanwhile.
        seconds = min(max(self._received.seconds_until_free(now), TURN_SECONDS), RECHECK_SECONDS)
        (self._later or asyncio.get_running_loop().call_later)(seconds, self._turn)

    def _turn(self) -> None:
        """Resume the transfers that have waited longest, as many as there are bytes for."""
        self._is_timed = False
        now = self._clock()
        self._look_at_share(now)
        if self._received.seconds_until_free(now) == 0:
            balance = self._received.balance(now)
            while self._waiting and balance >= 0:
                slowed, size = self._waiting.popleft()
                # It will probably read as much as before.
                balance -= size
                slowed.go_on()
        self._wait(now)

    def _resume_all(self) -> None:
        while self._waiting:
            self._waiting.popleft()[0].go_on()


_limits: WeakKeyDictionary[Crawler, Bandwidth] = WeakKeyDictionary()


def get_bandwidth(crawler: Crawler) -> Bandwidth:
    """Return the bandwidth limit of a crawl, which the first call creates."""
    found = _limits.get(crawler)
    if found is None:
        found = _limits[crawler] = Bandwidth(float(setting_value(crawler.settings, SETTING)))
    return found
