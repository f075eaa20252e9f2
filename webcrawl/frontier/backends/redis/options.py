"""What an operator chooses of a crawl in Redis."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RedisOptions:
    """How a crawl is kept in Redis."""

    spider: str = "broad"
    """The prefix of all its keys."""
    shards: int = 0
    """Into how many parts a new crawl is cut, 0 for as many as its server wants; one that exists keeps its own
    number."""
    lease_seconds: float = 60.0
    queue_max: int = 0
    """URLs per key; what is over it is pruned, lowest level first. 0 for no limit."""
    robots_max: int = 1 << 18
    """robots.txt answers kept, in the whole crawl."""
    budget_bytes: int = 0
    """Memory of each server that may be used; 0 for most of its own limit, if it has one."""
    delay_seconds: float = 0.0
    """What a key that was never fetched from owes after its holder was lost."""
    claim_seconds: float = 180.0
    """How long a fetch may keep clocks that it shares with others."""
    worker: str = "worker"
    """This process, for people."""
