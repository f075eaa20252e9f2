"""The technology ``redis``: the state is on a server or a cluster, for a crawl of any number of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.storage.technology import Technology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from webcrawl.storage.contract import Backend
    from webcrawl.storage.inspection import SharedInspection
    from webcrawl.storage.technology import CrawlClock, CrawlFacts, StorageOptions


class RedisTechnology(Technology):
    name = "redis"
    is_shared = True
    seen_tests = ("exact", "bloom")
    copied_otherwise = "Redis is copied as any Redis is"
    implied_by = "REDIS_URL"
    keeper = "webcrawl.storage.redis.keeper"

    def is_begun_in(self, folder: Path) -> bool:
        return (folder / "redis" / "url").is_file()

    def refuse_without_server(self) -> None:
        from webcrawl.storage.redis.private import find_program

        find_program()

    def server_settings(self, folder: Path, *, start: bool, until_idle: bool = False) -> Mapping[str, str]:
        from webcrawl.storage.redis.private import open_server, read_url

        return {
            "FRONTIER_BACKEND": self.name,
            "REDIS_URL": open_server(folder, until_idle=until_idle) if start else read_url(folder),
        }

    def build(self, facts: CrawlFacts) -> tuple[Backend, CrawlClock]:
        # A crawl on one machine does not import the client of Redis.
        from webcrawl.storage.redis.connection import answer_timeout, connection_parameters
        from webcrawl.storage.redis.frontier import RedisBackend
        from webcrawl.storage.redis.leases import ServerClock
        from webcrawl.storage.redis.names import RedisOptions

        configured, key_of, clock = facts.configuration, facts.key_of, ServerClock()
        options = RedisOptions(
            spider=facts.spider or "crawl",
            lease_seconds=configured.lease_seconds,
            queue_max=configured.frontier_queue_max,
            seen=configured.frontier_seen,
            seen_capacity=configured.frontier_seen_capacity,
            seen_error_rate=configured.frontier_seen_error_rate,
            robots_max=configured.robots_cache_size,
            budget_bytes=configured.redis_budget_bytes,
            delay_seconds=configured.first_delay,
            claim_seconds=max(2 * configured.download_timeout, configured.lease_seconds),
            worker=configured.worker_name,
            arriving=facts.arriving,
        )
        parameters = connection_parameters(facts.settings, answer_timeout(configured.lease_seconds))
        backend = RedisBackend(
            parameters, options, facts.agreed(), lambda origin: key_of(f"{origin}/"), clock, facts.learnt
        )
        return backend, clock

    def inspect_shared(self, configuration: StorageOptions, settings: Any, spider: str) -> SharedInspection:
        from webcrawl.storage.redis.connection import connection_parameters
        from webcrawl.storage.redis.inspection import RedisInspection

        configured = configuration
        return RedisInspection(
            connection_parameters(settings), spider, configured.lease_seconds, configured.first_delay
        )


TECHNOLOGY = RedisTechnology()
