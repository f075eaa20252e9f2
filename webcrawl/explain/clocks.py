"""The clocks that a fetch waits for, and the binding one.

A clock is one reason to wait. Each has a function of its own below, and a fetch waits for the latest of all of them.
A new clock is a new function in ``CLOCKS``. Clocks that a URL's fetch shares with those of other keys are included as
far as a storage or a log has their state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import HostRecord, Pauses, RobotsRecord
from webcrawl.politeness.hours import ALWAYS, FetchHours
from webcrawl.politeness.rate_limits import limits_in_words
from webcrawl.politeness.refusals import KINDS
from webcrawl.politeness.shared_clocks import SharedClocks
from webcrawl.robots.answer import RobotsState, is_fresh
from webcrawl.storage.inspection import Use


@dataclass(frozen=True, slots=True)
class WaitReason:
    """One reason to wait. ``until`` is in epoch seconds, None for one that does not end."""

    name: str
    until: float | None
    because: str

    @property
    def order(self) -> float:
        return math.inf if self.until is None else self.until


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts from which the clocks are computed."""

    now: float
    record: HostRecord
    robots: RobotsRecord | None
    politeness: Politeness
    shared: Sequence[WaitReason] = ()
    """The clocks that the fetch shares with those of other keys."""
    hours: FetchHours = ALWAYS

    @property
    def delay_seconds(self) -> float:
        """The delay owed after the next request."""
        return self.politeness.delay(self.record, self.now)


def politeness(facts: Facts) -> WaitReason | None:
    """Return the key's own delay; its back-off or a Retry-After if it failed."""
    record = facts.record
    if not record.fetches and not record.next_fetch_at:
        return None
    if record.next_fetch_at > facts.now and record.next_fetch_at == facts.hours.opens_at(
        record.key, facts.now
    ):
        # The key was put there to wait for its hours, which have a clock of their own.
        return None
    if record.refusal_rests:
        return WaitReason("politeness", record.next_fetch_at, _refusing(record))
    if record.failures or (record.parked and not record.blocked_until):
        return WaitReason("politeness", record.next_fetch_at, _failing(record))
    because = f"{record.delay_seconds:g} s after the last request to the key"
    if limits := limits_in_words(record, facts.now):
        because = limits if record.asked_until > facts.now else f"{because}; {limits}"
    return WaitReason("politeness", record.next_fetch_at, because)


def given_up(facts: Facts) -> WaitReason | None:
    """Return the clock of a key that is not contacted any more in this run."""
    if not facts.record.given_up:
        return None
    return WaitReason("given-up", None, f"the key is given up until the next start: {_failing(facts.record)}")


def park(facts: Facts) -> WaitReason | None:
    """Return the clock of a key all of whose URLs wait for a robots.txt."""
    if not facts.record.blocked_until:
        return None
    return WaitReason("park", facts.record.blocked_until, "all URLs of the key wait for their robots.txt")


def robots(facts: Facts) -> WaitReason | None:
    """Return the clock of the origin's robots.txt, if it is unknown or has expired: its request comes before the
    URL.
    """
    record, delay = facts.robots, facts.delay_seconds
    if record is not None and is_fresh(record, facts.now):
        match RobotsState(record.state):
            case RobotsState.UNREACHABLE:
                return WaitReason(
                    "robots", record.expires_at + delay, "robots.txt is unreachable; requested again then"
                )
            case RobotsState.PENDING:
                return WaitReason(
                    "robots", record.expires_at + delay, "robots.txt redirects; at the latest until then"
                )
            case RobotsState.RULES | RobotsState.ALLOWED_ALL:
                return None
    turn = max(facts.now, facts.record.next_fetch_at)
    return WaitReason("robots", turn + delay, "robots.txt is fetched first, and a delay follows it")


def hours(facts: Facts) -> WaitReason | None:
    """Return the clock of the hours in which the key may be requested, if they have not begun."""
    at = facts.hours.opens_at(facts.record.key, facts.now)
    if at <= facts.now:
        return None
    return WaitReason("hours", at, f"requests may begin within {facts.hours.in_words(facts.record.key)}")


CLOCKS: Sequence[Callable[[Facts], WaitReason | None]] = (hours, politeness, park, given_up, robots)


@dataclass(frozen=True, slots=True)
class WaitReasons:
    """All clocks of a URL, the one that ends last first."""

    clocks: tuple[WaitReason, ...]
    binding: WaitReason | None
    """The clock that is waited for; None if all have ended."""
    earliest_at: float | None
    """The time at which the last of them ends, not before now; None if one never ends."""


def evaluate_clocks(facts: Facts) -> WaitReasons:
    """Evaluate all clocks."""
    clocks = [*(clock for ask in CLOCKS if (clock := ask(facts)) is not None), *facts.shared]
    clocks.sort(key=lambda clock: clock.order, reverse=True)
    binding = clocks[0] if clocks and clocks[0].order > facts.now else None
    earliest_at = facts.now if binding is None else binding.until
    return WaitReasons(tuple(clocks), binding, earliest_at)


def _refusing(record: HostRecord) -> str:
    kind = record.last_error or ""
    meaning = f": {KINDS[kind].meaning}" if kind in KINDS else ""
    return (
        f"the host refuses this crawler ({kind or 'unknown'}{meaning}), and is left alone for a day each time"
    )


def _failing(record: HostRecord) -> str:
    times = f"{record.failures} failure{'' if record.failures == 1 else 's'} in a row"
    return f"{times}, the last: {record.last_error or 'unknown'}"


def shared_wait_reasons(
    policy: SharedClocks, pauses: Pauses, uses: Mapping[str, Use], address: str | None, now: float
) -> Iterator[WaitReason]:
    """``pauses``: the clocks of the URL at ``address``, if that is known; ``uses``: their known uses."""
    for name, pause in pauses.items():
        use = uses.get(name)
        if use is None:
            yield WaitReason(name, now, "no request is known that used it")
        elif use.holder is not None:
            yield WaitReason(
                name, use.free_at, f"{use.holder} is using it; {pause:g} s after that request it is free"
            )
        else:
            yield WaitReason(name, use.free_at, f"{pause:g} s after the last request that used it")
    if policy.needs_address and address is None:
        yield WaitReason(
            "address", now, "the host was not contacted yet, so it is not known here whose clock this is"
        )


def uses_in_log(lines: Iterable[Mapping[str, Any]], pauses: Pauses) -> dict[str, Use]:
    """Return the last uses of clocks in lines of fetch logs."""
    free_at: dict[str, float] = {}
    for line in lines:
        end, named = line.get("end"), line.get("clocks")
        if isinstance(end, int | float) and isinstance(named, dict):
            for name in named.keys() & pauses.keys():
                free_at[name] = max(free_at.get(name, 0.0), end + pauses[name])
    return {name: Use(at) for name, at in free_at.items()}
