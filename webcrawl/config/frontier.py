"""Settings of the frontier: where it lives, its order, its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from webcrawl.config.readers import choice, encoding, import_path, optional, real, redis_url, text, whole
from webcrawl.config.setting import ANY, DAY, MIB, YEAR, setting


@dataclass(frozen=True, kw_only=True)
class FrontierSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    frontier_backend: str = field(
        default="sqlite",
        metadata={
            "reader": optional(choice("sqlite", "memory", "redis")),
            "default": None,
            "unit": "",
            "meaning": "where queues, seen URLs and hosts are kept; if unset redis with a REDIS_URL, else sqlite",
        },
    )
    redis_url: str | None = setting(
        redis_url(), None, "", "the Redis, Valkey or Redis Cluster that several processes share"
    )
    redis_budget_bytes: int = setting(
        whole(0, 1 << 50, zero="nine tenths of its maxmemory, if it has one"),
        0,
        "bytes",
        "memory that a Redis server may use; near it unimportant URLs are turned away",
    )
    lease_seconds: float = setting(
        real(1, DAY), 60, "seconds", "after so long without a sign of life a process has lost its hosts"
    )
    redis_start_urls_key: str = setting(
        text("a text", empty=False), "%(name)s:start_urls", "", "the list in Redis to which URLs are pushed"
    )
    redis_start_urls_batch_size: int = setting(
        whole(0, 10_000, zero="as many as CONCURRENT_REQUESTS"), 0, "entries", "taken from that list at once"
    )
    redis_encoding: str = setting(encoding(), "utf-8", "", "the encoding of what is pushed")
    max_idle_time_before_close: float | None = setting(
        optional(real(0, YEAR, zero="for ever")),
        None,
        "",
        "for so many seconds a crawl with nothing left waits for URLs to be pushed; if unset not at all",
    )
    frontier_order: str = setting(
        choice("breadth_first", "priority", "random", "best_first", "random_walk", "in_links", "opic"),
        "breadth_first",
        "",
        "what a queue gives first; from best_first on, and with a FOCUS, also which ready host comes first",
    )
    frontier_prioritiser: str | None = setting(
        import_path("the import path of a prioritiser"), None, "", "function from a URL to its level"
    )
    frontier_bias: float = setting(
        real(1, 1000),
        2.0,
        "",
        "how much rather a host of one level becomes active than one of the next lower",
    )
    frontier_exploration: float = setting(
        real(0, 1), 0.05, "", "share of turns in which a best-first order takes any ready host"
    )
    frontier_reordering: float = setting(
        real(0, 1), 0.1, "", "share of time that may go into scoring again what is queued; 0 for not at all"
    )
    frontier_restart: float = setting(
        real(0, 1), 0.15, "", "how likely a random walk jumps to any known URL instead of following a link"
    )
    frontier_active_max: int = setting(whole(1, 1_000_000), 20_000, "hosts", "most hosts active at a time")
    frontier_session_budget: int = setting(
        whole(1, 1_000_000),
        8,
        "URLs",
        "URLs that a host gives in a row before hosts that wait longer come first",
    )
    frontier_patience_seconds: float = setting(
        real(0, YEAR), 120.0, "seconds", "how long a crawl with nothing else left waits for a parked host"
    )
    frontier_queue_max: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "URLs",
        "longest queue of a host; the lowest level is pruned first, and may come back when it is found again",
    )
    frontier_seen: str = setting(choice("exact", "bloom"), "exact", "", "how URLs seen before are remembered")
    frontier_seen_capacity: int = setting(
        whole(1000, 10**11), 10_000_000, "URLs", "URLs for which the first Bloom filter is made"
    )
    frontier_seen_error_rate: float = setting(
        real(0, 0.1, above=True), 1e-4, "", "share of new URLs that a Bloom filter may take for seen"
    )
    frontier_cache_bytes: int = setting(whole(MIB, 1 << 40), 32 * MIB, "bytes", "SQLite's page cache")
