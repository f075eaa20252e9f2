"""One shard of the crawl, as this process knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webcrawl.frontier.backends.redis.names import ShardNames
from webcrawl.frontier.backends.redis.room import ServerRoom
from webcrawl.frontier.hold import Hold
from webcrawl.hosts.record import HostRecord, RobotsRecord

NEVER = -1
"""The epoch of a shard that we have not joined."""


@dataclass(slots=True, eq=False)
class Shard:
    """Names, figures and leases of a shard. ``hold`` stands for all keys of ``mine``."""

    names: ShardNames
    queued: int = 0
    hosts: int = 0
    epoch: int = NEVER
    """Which start of its server this is."""
    hold: Hold = field(default_factory=lambda: Hold(0.0))
    mine: dict[str, int] = field(default_factory=dict)
    """Keys that are active here, with their fencing numbers."""
    let_go: dict[str, tuple[float, HostRecord]] = field(default_factory=dict)
    """Keys that were released a moment ago: when (see ``uptime``), and our last words on each. The server may forget
    them yet."""
    heard: list[bytes] = field(default_factory=list)
    """What the last pulse told of keys that others queued URLs for: key and mark in turn."""
    doubtful: bool = False
    """The answer to a lease was lost: the server may hold keys for us of which we know nothing."""
    room: ServerRoom = field(default_factory=ServerRoom)
    """Of the server it is on."""
    _robots: dict[str, tuple[int, dict[str, RobotsRecord]]] = field(default_factory=dict)
    """Answers of robots.txt of keys that are active here, by origin, with the fencing number of the key."""

    def known_robots(self, key: str) -> Mapping[str, RobotsRecord]:
        """What is known here of a key's robots.txt, by origin. Its holder is told when somebody else changes it."""
        fence, known = self._robots.get(key, (None, {}))
        return known if fence is not None and fence == self.mine.get(key) else {}

    def keep_robots(self, key: str, record: RobotsRecord) -> None:
        """An answer was read."""
        fence = self.mine.get(key)
        if fence is None:
            return
        if self._robots.get(key, (None,))[0] != fence:
            self._robots[key] = fence, {}
        self._robots[key][1][record.origin] = record

    def forget_robots(self, key: str) -> None:
        """There may be other answers than those that are known here."""
        self._robots.pop(key, None)

    def tidy(self) -> None:
        """Keep nothing of keys that are not active here any more."""
        self._robots = {key: known for key, known in self._robots.items() if key in self.mine}

    def lose(self) -> list[str]:
        """Nothing of it is ours any more: the keys that were."""
        lost = list(self.mine)
        self.mine.clear()
        self.let_go.clear()
        self._robots.clear()
        self.hold.until = 0.0
        self.hold = Hold(0.0)
        return lost
