"""Claims on shared clocks: the contract between the turns of keys (policy) and where clocks are kept (mechanism)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from webcrawl.frontier.hold import FOREVER, Hold
from webcrawl.hosts.record import Pauses


@dataclass(slots=True, eq=False)
class Claim:
    """The right to fetch once from ``host`` at ``address``, as far as its shared clocks go."""

    ticket: int
    host: str
    address: str | None
    """Empty: not known, and the host must not be contacted directly. None: any."""
    pauses: Pauses
    hold: Hold

    @property
    def longest_pause(self) -> float:
        """Seconds; 0 where no clocks are shared."""
        return max(self.pauses.values(), default=0.0)


NO_CLAIM = Claim(0, "", None, {}, FOREVER)
"""Where no clocks are shared."""

Locate = Callable[[str], Awaitable[str | None]]
"""The address at which a host is contacted, None where there is none; from then on it is contacted there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A fetch that wants all of its clocks at once. ``ticket`` is its own within the process: what was granted
    under it is granted when it is asked for again."""

    ticket: int
    pauses: Pauses


@dataclass(frozen=True, slots=True)
class Returned:
    """A claim that is given back. ``ended_at``: when the fetch had ended, by the crawl's clock; None when nothing was
    sent, so that nothing is owed."""

    ticket: int
    pauses: Pauses
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class Denied:
    """One of the clocks is not free: in so many seconds it may be, or is worth another question."""

    clock: str
    wait_seconds: float


class ClockStore(Protocol):
    """Where shared clocks are kept. At most one claim is open on a clock, and none is granted before the pause is
    over that was owed after the last one, whichever process had it."""

    def rest(self, now: float) -> None:
        """The crawl was begun before: requests may have been open a moment ago of which nothing is known here."""
        ...

    async def exchange(self, returned: Sequence[Returned], wanted: Sequence[Wanted]) -> list[Hold | Denied]:
        """Take back, then grant or deny each of ``wanted``: all clocks of one or none. What is granted is held while
        its ``Hold`` lasts."""
        ...


class OwnClocks:
    """The clocks of a crawl that has one process. They are not written down: a crawl that is taken up again lets each
    rest its pause first, as if it had ended just now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock``: the crawl's, epoch seconds."""
        self._clock = clock
        self._open: dict[str, int] = {}
        self._free_at: dict[str, float] = {}
        self._rested_from = float("-inf")
        self._swept_at = 1024

    def rest(self, now: float) -> None:
        self._rested_from = now

    async def exchange(self, returned: Sequence[Returned], wanted: Sequence[Wanted]) -> list[Hold | Denied]:
        for one in returned:
            self._take_back(one)
        now = self._clock()
        if len(self._free_at) > self._swept_at:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            self._swept_at = max(2 * len(self._free_at), 1024)
        return [self._answer(one, now) for one in wanted]

    def _take_back(self, one: Returned) -> None:
        for name, pause in one.pauses.items():
            if self._open.get(name) == one.ticket:
                del self._open[name]
                if one.ended_at is not None:
                    self._free_at[name] = one.ended_at + pause

    def _answer(self, one: Wanted, now: float) -> Hold | Denied:
        for name, pause in one.pauses.items():
            if self._open.get(name, one.ticket) != one.ticket:
                # Who has it gives it back, and with that it is known when it will be free.
                return Denied(name, pause)
            free_at = max(self._free_at.get(name, 0.0), self._rested_from + pause)
            if free_at > now:
                return Denied(name, free_at - now)
        self._open.update(dict.fromkeys(one.pauses, one.ticket))
        return FOREVER
