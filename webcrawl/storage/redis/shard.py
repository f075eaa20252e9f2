"""One shard of the crawl as this process knows it, and the room that its server has for new URLs.

Two marks of the budget matter. Between the first and the second, new URLs of the lowest levels are turned away, the
more of them the nearer the second is. From the second on no new URL is taken, and the ends of the longest queues are
pruned. The allowance makes the second mark hold with any number of processes: the amount that may be added until the
next update is the room before the mark, divided among them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.frontier.records import NOTHING_CARRIED, Kind, UrlEntry, carried_values
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Filling, LeaseValidity, Room
from webcrawl.storage.redis.names import ShardNames

SCARCE_FROM, PLENTY_BELOW = 0.85, 0.80
"""Shares of the budget: room is scarce from the first on, until less than the second is used."""

FULL_FROM, FULL_UNTIL = 0.93, 0.90
"""Shares of the budget: there is no room from the first on, until less than the second is used. The rest is for data
not counted here: records of hosts, answers of robots.txt, and the server's buffers for requests."""

OFFERS_REMEMBERED = 1000

COST_BYTES = 400
"""The most bytes that a new URL takes beside its own: a place in a queue and in the seen test, and a new host. On the
safe side; memory use is measured, not added up, and measured again when the allowance seems used up."""

FREED_BYTES = 100
"""About the bytes that pruning a URL gives back: it stays known."""

Worth = tuple[int, int]
"""Level, and the negative depth: entries of less worth are turned away first."""


def entry_worth(entry: UrlEntry) -> Worth:
    return entry.level, -entry.depth


def is_given(entry: UrlEntry) -> bool:
    """Return True if a user named this URL, as a seed or by hand, or it is a target of a redirect of such a one."""
    return entry.via is None or entry.depth == 0


class ServerRoom:
    """The room on one server. Updated at each heartbeat; every new URL is checked against it in between."""

    def __init__(self) -> None:
        self.room = Room.PLENTY
        self.filling: Filling | None = None
        """The used budget as of the last update; None without a budget."""
        self.prunable_bytes = 0.0
        """Number of bytes that this process is to prune until the next update."""
        self._allowance_bytes = math.inf
        self._bar: Worth | None = None
        """Entries of this worth or less are turned away; None turns nothing away."""
        self._offers: list[Worth] = []

    def update(self, used_bytes: int, budget_bytes: int, members: int) -> None:
        """Update the room: ``used_bytes`` of the budget are used, and ``members`` processes share the rest. A budget
        of 0 is none."""
        if not budget_bytes:
            self.room, self.filling, self.prunable_bytes = Room.PLENTY, None, 0.0
            self._allowance_bytes = math.inf
            return
        share = used_bytes / budget_bytes
        self.room = _next_room(self.room, share)
        self.filling = Filling(used_bytes, budget_bytes, self.room)
        self._allowance_bytes = max(FULL_FROM * budget_bytes - used_bytes, 0.0) / max(members, 1)
        excess = used_bytes - FULL_UNTIL * budget_bytes if self.room is Room.FULL else 0.0
        self.prunable_bytes = max(excess, 0.0) / max(members, 1)
        self._set_bar(share)

    def is_short(self, entries: int, size_bytes: int) -> bool:
        """Return True if so many entries, with so many bytes of their own, may be more than the allowance."""
        return entries * COST_BYTES + size_bytes > self._allowance_bytes

    def takes(self, entry: UrlEntry) -> bool:
        """Return True if a new URL may be added now, and count it."""
        if entry.kind == Kind.ROBOTS:
            # Without it the URLs that are there could not be fetched.
            return True
        if self.filling is None:
            return True
        cost = COST_BYTES + own_bytes(entry)
        if self.room is Room.FULL or cost > self._allowance_bytes:
            return False
        if self.room is Room.SCARCE and not is_given(entry):
            worth = entry_worth(entry)
            if len(self._offers) < OFFERS_REMEMBERED:
                self._offers.append(worth)
            if self._bar is not None and worth <= self._bar:
                return False
        self._allowance_bytes -= cost
        return True

    def pruned(self, urls: int) -> None:
        """Count URLs that were taken out of their queues."""
        self.prunable_bytes = max(self.prunable_bytes - urls * FREED_BYTES, 0.0)

    def _set_bar(self, share: float) -> None:
        """Turn away the same part of the offered URLs as the part of the way from one mark to the other that is used
        up."""
        if self.room is not Room.SCARCE:
            self._bar = None
            self._offers.clear()
        elif self._offers:
            self._offers.sort()
            part = min(max((share - PLENTY_BELOW) / (FULL_FROM - PLENTY_BELOW), 0.0), 1.0)
            self._bar = self._offers[int(part * (len(self._offers) - 1))]
            self._offers.clear()


def own_bytes(entry: UrlEntry) -> int:
    """The most bytes of an entry that depend on the entry."""
    size, carried = len(entry.url) + len(entry.via or ""), carried_values(entry)
    return size if carried == NOTHING_CARRIED else size + sum(len(value or "") for value in carried)


def cut_to(lengths: Mapping[str, int], urls: int) -> dict[str, int]:
    """Return the lengths to which queues are cut to lose about ``urls`` URLs together, the longest most; one URL
    stays in each."""
    ordered = sorted(lengths.values(), reverse=True)
    most, cut = 1, 0
    for number, length in enumerate(ordered, 1):
        below = ordered[number] if number < len(ordered) else 1
        gain = number * (length - below)
        if cut + gain >= urls:
            most = max(length - math.ceil((urls - cut) / number), 1)
            break
        cut += gain
    return {key: most for key, length in lengths.items() if length > most}


def _next_room(room: Room, share: float) -> Room:
    if share >= FULL_FROM or (room is Room.FULL and share >= FULL_UNTIL):
        return Room.FULL
    if share >= SCARCE_FROM or (room is not Room.PLENTY and share >= PLENTY_BELOW):
        return Room.SCARCE
    return Room.PLENTY


NEVER = -1
"""The epoch of a shard that was not joined."""


@dataclass(slots=True, eq=False)
class Shard:
    """Names, figures and leases of a shard. ``validity`` stands for all keys of ``mine``."""

    names: ShardNames
    queued: int = 0
    hosts: int = 0
    epoch: int = NEVER
    """The number of its server's start."""
    validity: LeaseValidity = field(default_factory=lambda: LeaseValidity(0.0))
    mine: dict[str, int] = field(default_factory=dict)
    """Keys that are active here, with their fencing numbers."""
    released: dict[str, tuple[float, HostRecord]] = field(default_factory=dict)
    """Keys that were released a moment ago: the time (see ``uptime``), and the final record of each. The server may
    still forget them."""
    changed_queues: list[bytes] = field(default_factory=list)
    """The changed queues of the last heartbeat: key and mark in turn."""
    doubtful: bool = False
    """True if the answer to a lease was lost: the server may hold keys for us without our knowledge."""
    room: ServerRoom = field(default_factory=ServerRoom)
    """The room of the server it is on."""
    _robots: dict[str, tuple[int, dict[str, RobotsRecord]]] = field(default_factory=dict)
    """Answers of robots.txt of keys that are active here, by origin, with the fencing number of the key."""

    def known_robots(self, key: str) -> Mapping[str, RobotsRecord]:
        """Return the known answers of a key's robots.txt, by origin. Its holder gets notice when another process
        changes them."""
        fence, known = self._robots.get(key, (None, {}))
        return known if fence is not None and fence == self.mine.get(key) else {}

    def keep_robots(self, key: str, record: RobotsRecord) -> None:
        """Keep an answer that was read."""
        fence = self.mine.get(key)
        if fence is None:
            return
        if self._robots.get(key, (None,))[0] != fence:
            self._robots[key] = fence, {}
        self._robots[key][1][record.origin] = record

    def forget_robots(self, key: str) -> None:
        """Forget the known answers of a key: there may be other ones."""
        self._robots.pop(key, None)

    def tidy(self) -> None:
        """Forget everything about keys that are not active here any more."""
        self._robots = {key: known for key, known in self._robots.items() if key in self.mine}

    def lose(self) -> list[str]:
        """Drop all keys. Returns the keys that were held."""
        lost = list(self.mine)
        self.mine.clear()
        self.released.clear()
        self._robots.clear()
        self.validity.until = 0.0
        self.validity = LeaseValidity(0.0)
        return lost
