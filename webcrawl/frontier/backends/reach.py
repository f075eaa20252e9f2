"""What of a crawl an exclusion would hit, for whoever looks at it from outside: the common words of all backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Asked(NamedTuple):
    """What is looked for."""

    may_have: Callable[[str], bool]
    """Whether there may be such URLs on a politeness key; the queues of others are not read."""
    is_hit: Callable[[str], bool]
    """Whether a URL is one."""


@dataclass(slots=True)
class Reach:
    """Queued URLs that are hit, those in flight included: a URL keeps its place in the queue until it is settled."""

    queued: int = 0
    hosts: int = 0
    """Politeness keys they are on."""
    leased: int = 0
    """Those of the URLs that are on keys which a process holds, to fetch from them now or next."""
    leased_hosts: int = 0
    """These keys. Each of them has at most one request open."""

    def add(self, urls: int, *, is_leased: bool) -> None:
        """Count ``urls`` hit on one key."""
        if urls:
            self.queued += urls
            self.hosts += 1
        if urls and is_leased:
            self.leased += urls
            self.leased_hosts += 1
