"""The technology ``memory``: the state ends with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.storage.technology import SteadyClock, Technology

if TYPE_CHECKING:
    from webcrawl.storage.contract import Backend
    from webcrawl.storage.technology import CrawlClock, CrawlFacts


class MemoryTechnology(Technology):
    name = "memory"
    seen_tests = ("exact", "bloom")

    def build(self, facts: CrawlFacts) -> tuple[Backend, CrawlClock]:
        from webcrawl.frontier.seen import Seen
        from webcrawl.storage.memory.frontier import MemoryBackend

        options, seen = facts.configuration, None
        if options.frontier_seen == "bloom":
            seen = Seen(options.frontier_seen_capacity, options.frontier_seen_error_rate)
        backend = MemoryBackend(
            queue_max=options.frontier_queue_max, seen=seen, delay_seconds=options.first_delay
        )
        return backend, SteadyClock()


TECHNOLOGY = MemoryTechnology()
