"""Settings of the frontier: its storage, its order, its limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from webcrawl.config.readers import choice, encoding, import_path, optional, real, redis_url, text, whole
from webcrawl.config.setting import ANY, DAY, MIB, YEAR, setting
from webcrawl.storage import BACKENDS, DEFAULT


@dataclass(frozen=True, kw_only=True)
class FrontierSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    frontier_backend: str = field(
        default=DEFAULT,
        metadata={
            "reader": optional(choice(*BACKENDS)),
            "default": None,
            "unit": "",
            "meaning": "Storage of queues, seen URLs and hosts. If unset, redis with a REDIS_URL, else sqlite.",
        },
    )
    redis_url: str | None = setting(
        redis_url(), None, "", "Redis, Valkey or Redis Cluster that the processes of a crawl share."
    )
    redis_budget_bytes: int = setting(
        whole(0, 1 << 50, zero="nine tenths of its maxmemory, if it has one"),
        0,
        "bytes",
        "Memory that a Redis server may use. Near this limit, unimportant URLs are rejected.",
    )
    lease_seconds: float = setting(
        real(1, DAY), 60, "seconds", "A process whose heartbeat fails for this time loses its hosts."
    )
    redis_start_urls_key: str = setting(
        text("text that is not empty", empty=False),
        "%(name)s:start_urls",
        "",
        "Redis list to which URLs are pushed.",
    )
    redis_start_urls_batch_size: int = setting(
        whole(0, 10_000, zero="as many as CONCURRENT_REQUESTS"),
        0,
        "entries",
        "Number of entries that are taken from that list at once.",
    )
    redis_encoding: str = setting(encoding(), "utf-8", "", "Encoding of the entries.")
    max_idle_time_before_close: float | None = setting(
        optional(real(0, YEAR, zero="for ever")),
        None,
        "",
        "Number of seconds for which a crawl with nothing left waits for pushed URLs. If unset, it does "
        "not wait.",
    )
    frontier_order: str = setting(
        choice("breadth_first", "priority", "random", "best_first", "random_walk", "in_links", "opic"),
        "breadth_first",
        "",
        "Order of the URLs in a queue. From best_first on, and with a FOCUS, also the order of the "
        "hosts that are ready.",
    )
    frontier_prioritiser: str | None = setting(
        import_path("the import path of a prioritiser"), None, "", "Function that returns the level of a URL."
    )
    frontier_bias: float = setting(
        real(1, 1000),
        2.0,
        "",
        "Preference of hosts of one level over hosts of the next lower level when hosts become active.",
    )
    frontier_exploration: float = setting(
        real(0, 1), 0.05, "", "Share of turns in which a best-first order takes any ready host."
    )
    frontier_reordering: float = setting(
        real(0, 1), 0.1, "", "Maximum share of time for new scores of queued URLs. 0 turns this off."
    )
    frontier_restart: float = setting(
        real(0, 1),
        0.15,
        "",
        "Probability that a random walk jumps to any known URL instead of following a link.",
    )
    frontier_active_max: int = setting(
        whole(1, 1_000_000), 20_000, "hosts", "Maximum number of active hosts."
    )
    frontier_session_budget: int = setting(
        whole(1, 1_000_000),
        8,
        "URLs",
        "Number of consecutive URLs of one host, after which hosts that have waited longer come first.",
    )
    frontier_patience_seconds: float = setting(
        real(0, YEAR), 120.0, "seconds", "How long a crawl with nothing else left waits for a parked host."
    )
    frontier_queue_max: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "URLs",
        "Maximum length of the queue of a host. The lowest level is pruned first. A pruned URL may be "
        "queued again when it is found again.",
    )
    frontier_seen: str = setting(
        choice("exact", "bloom"), "exact", "", "Data structure for URLs that were seen before."
    )
    frontier_seen_capacity: int = setting(
        whole(1000, 10**11), 10_000_000, "URLs", "Number of URLs for which the first Bloom filter is sized."
    )
    frontier_seen_error_rate: float = setting(
        real(0, 0.1, above=True), 1e-4, "", "Share of new URLs that a Bloom filter may report as seen."
    )
    frontier_cache_bytes: int = setting(
        whole(MIB, 1 << 40), 32 * MIB, "bytes", "Size of SQLite's page cache."
    )
