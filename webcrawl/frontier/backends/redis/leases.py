"""Leases: how long they last, what renewing them brings, and what idle keys there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.errors import StorageAway
from webcrawl.frontier.backends.redis.clock import ServerClock
from webcrawl.frontier.backends.redis.packing import level_from
from webcrawl.frontier.backends.redis.server import Server
from webcrawl.frontier.hold import uptime
from webcrawl.frontier.queue_head import Place

MARGIN_SHARE, MARGIN_SECONDS = 0.02, 0.25
"""By how much a lease ends sooner here than there: clocks that run at different speeds, a request on its way out."""

View = tuple[int, float, list[tuple[str, int, float]]]
"""URLs on held keys; seconds until keys may be leased; (class, level, due) of what is due first of each."""


@dataclass(slots=True)
class Renewed:
    """What renewing brought."""

    lost: list[str] = field(default_factory=list)
    stirred: dict[str, Place] = field(default_factory=dict)
    idle: int = 0
    """Keys that have URLs and no holder."""
    forgotten: bool = False
    """A server started: it may have forgotten its last second."""


def given_time(clock: ServerClock) -> str:
    """ARGV for the time of a script: empty for the server's own."""
    return "" if clock.given is None else repr(clock.given)


async def set_clock(server: Server, key: str, clock: ServerClock) -> None:
    """Read the clock of the server that has ``key``: all members ask the same one."""
    sent = uptime()
    [(seconds, microseconds)] = await server.commands([("EVAL", "return redis.call('TIME')", 1, key)])
    clock.heard(int(seconds) + int(microseconds) / 1e6, sent, uptime())


def until(sent_at: float, lease_seconds: float) -> float:
    """When a lease ends for us that was asked for at ``sent_at``; both as told by ``uptime``."""
    return sent_at + lease_seconds * (1 - MARGIN_SHARE) - min(MARGIN_SECONDS, lease_seconds / 4)


def view_of(answer: list[object], epoch: int) -> View:
    """What ``ready`` found in a shard. :raises StorageAway: its server has started since ``epoch``"""
    held, wait, members, now_epoch = answer
    if now_epoch != epoch:
        # What is missing there others may have, or we: nobody can tell yet whether the crawl is over.
        raise StorageAway("Redis has started anew; what it may have forgotten is told again")
    assert isinstance(held, int)
    assert isinstance(wait, bytes)
    assert isinstance(members, list)
    found = [
        (member[:1].decode(), level_from(member[1:7]), int.from_bytes(member[7:15], "big") / 1e6)
        for member in members
    ]
    return held, float(wait), found


def ready_levels(view: View, now: float) -> list[int]:
    """Levels of which keys are due."""
    _, wait, found = view
    return [] if wait else sorted({level for _, level, due in found if due <= now})


def first_due(views: Sequence[View], now: float) -> tuple[float | None, float | None]:
    """When the first key that rests, and the first that is parked, may become active."""
    times: dict[str, float] = {}
    for _, wait, found in views:
        for kind, _, due in found:
            at = max(due, now + wait) if wait else due
            times[kind] = min(times.get(kind, at), at)
    return times.get("r"), times.get("p")
