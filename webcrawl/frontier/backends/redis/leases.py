"""Leases: joining, renewing, and what idle keys there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from webcrawl.frontier.backends.redis.clock import ServerClock
from webcrawl.frontier.backends.redis.packing import level_from, place_from
from webcrawl.frontier.backends.redis.server import Call, Server
from webcrawl.frontier.backends.redis.shard import NEVER, Shard
from webcrawl.frontier.hold import uptime
from webcrawl.frontier.queue_head import Place

MARGIN_SHARE, MARGIN_SECONDS = 0.02, 0.25
"""By how much a lease ends sooner here than there: clocks that run at different speeds, a request on its way out."""

EVERYTHING: Place = (-(1 << 47), -(1 << 63))
"""A place before all others."""

View = tuple[int, float, list[tuple[str, int, float]]]
"""URLs on held keys; seconds until keys may be leased; (class, level, due) of what is due first of each."""


@dataclass(slots=True)
class Renewed:
    """What renewing brought."""

    lost: list[str] = field(default_factory=list)
    stirred: dict[str, Place] = field(default_factory=dict)
    idle: int = 0
    """Keys that have URLs and no holder."""


def given_time(clock: ServerClock) -> str:
    """ARGV for the time of a script: empty for the server's own."""
    return "" if clock.given is None else repr(clock.given)


async def set_clock(server: Server, key: str, clock: ServerClock) -> None:
    """Read the clock of the server that has ``key``: all members ask the same one."""
    sent = uptime()
    [(seconds, microseconds)] = await server.commands([("EVAL", "return redis.call('TIME')", 1, key)])
    clock.heard(int(seconds) + int(microseconds) / 1e6, sent, uptime())


def _until(sent_at: float, lease_seconds: float) -> float:
    return sent_at + lease_seconds * (1 - MARGIN_SHARE) - min(MARGIN_SECONDS, lease_seconds / 4)


def _begin(clock: ServerClock, member: str) -> list[str]:
    """The first arguments of every operation on leases."""
    return [given_time(clock), repr(clock() + clock.slack_seconds), member]


async def join(
    server: Server,
    shards: Sequence[Shard],
    member: str,
    lease_seconds: float,
    clock: ServerClock,
    forgotten: Callable[[], None],
) -> list[str]:
    """Become a member in ``shards``, with the keys we hold there; those that others hold by now are lost.

    ``forgotten`` is called before anybody else hears that a server has started: it may not know its last second.
    """
    sent = uptime()
    first = [*_begin(clock, member), lease_seconds]
    calls: list[Call] = []
    for shard in shards:
        pairs = [part for key, fence in shard.mine.items() for part in (_encode(key), fence)]
        calls.append((shard.names.fixed, [*first, *pairs]))
    lost: list[str] = []
    answers = await server.call("join", calls)
    if any(shard.epoch not in (NEVER, epoch) for shard, (epoch, _) in zip(shards, answers, strict=True)):
        forgotten()
    for shard, (epoch, gone) in zip(shards, answers, strict=True):
        shard.epoch = epoch
        for name in gone:
            key = name.decode("utf-8", "surrogatepass")
            del shard.mine[key]
            lost.append(key)
        # A hold that ended here stays so: whoever relied on it may have let go of its keys.
        if not shard.mine and shard.hold.is_over():
            shard.lose()
        shard.hold.until = max(shard.hold.until, _until(sent, lease_seconds))
    return lost


async def renew(
    server: Server,
    shards: Sequence[Shard],
    member: str,
    lease_seconds: float,
    clock: ServerClock,
    forgotten: Callable[[], None],
) -> Renewed:
    """Renew every lease. Those that ended, here or there, are lost, and we join anew without them."""
    renewed = Renewed()
    await _drop_ended(server, shards, member, clock, renewed)
    sent = uptime()
    args = [*_begin(clock, member), lease_seconds]
    answers = await server.call("pulse", [(shard.names.fixed, args) for shard in shards])
    again = []
    for shard, (epoch, idle, *pairs) in zip(shards, answers, strict=True):
        renewed.idle += idle
        if epoch == -1 or shard.hold.is_over():
            renewed.lost += shard.lose()
            again.append(shard)
            continue
        if epoch != shard.epoch:
            again.append(shard)
            continue
        shard.hold.until = max(shard.hold.until, _until(sent, lease_seconds))
        for key, place in zip(pairs[::2], pairs[1::2], strict=True):
            renewed.stirred[key.decode("utf-8", "surrogatepass")] = place_from(place)
    if again:
        renewed.lost += await join(server, again, member, lease_seconds, clock, forgotten)
        # What we have in memory of their queues may be more than the server has, or less.
        renewed.stirred.update({key: EVERYTHING for shard in again for key in shard.mine})
    return renewed


async def _drop_ended(
    server: Server, shards: Sequence[Shard], member: str, clock: ServerClock, renewed: Renewed
) -> None:
    """What ended here may go on there: give it back, or nobody would ever use it."""
    ended = [shard for shard in shards if shard.hold.is_over()]
    if not ended:
        return
    for shard in ended:
        renewed.lost += shard.lose()
    args = [repr(clock() + clock.slack_seconds), member]
    left = ended
    while left:
        done = await server.call("leave", [(shard.names.fixed, args) for shard in left])
        left = [shard for shard, all_done in zip(left, done, strict=True) if not all_done]


def view_of(answer: list[object]) -> View:
    """What ``ready`` found in a shard."""
    held, wait, members = answer
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


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
