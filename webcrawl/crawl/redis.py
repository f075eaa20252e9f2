"""The connection of a shared crawl to its Redis, and the settings on which its processes must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_redis.connection import get_redis_from_settings

from webcrawl.crawl.rules import CrawlRules, digest_of
from webcrawl.scope.whitelist import whitelist_of
from webcrawl.storage.redis import RedisBackend, RedisOptions
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.workers import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from webcrawl.config import Configuration
    from webcrawl.urls.politeness_key import PolitenessKey


TIMEOUT_SECONDS = 30.0
"""The longest time to wait for an answer of Redis."""


class _Parameters(dict[str, Any]):
    """Takes the place of a connection in scrapy-redis, and keeps the parameters for it."""

    @classmethod
    def from_url(cls, url: str, **rest: Any) -> _Parameters:
        return cls(rest, url=url)


_SHARED_DELAYS = ("POLITENESS_ADDRESS_DELAY", "POLITENESS_DOMAIN_DELAY", "POLITENESS_HOST_DELAY")
_LISTS = ("ALLOW_FILE", "DENY_FILE", "USELESS_PATHS_FILE")


def shared_backend(
    configuration: Configuration,
    choices: CrawlRules,
    crawler: Crawler,
    key: PolitenessKey,
    learnt: Callable[[str], None],
) -> tuple[RedisBackend, ServerClock]:
    """Return the backend, and the clock that all processes of the crawl use. ``learnt``: see RedisBackend."""
    clock = ServerClock()
    options = RedisOptions(
        spider=crawler.spidercls.name or "crawl",
        lease_seconds=configuration.lease_seconds,
        queue_max=configuration.frontier_queue_max,
        robots_max=configuration.robots_cache_size,
        budget_bytes=configuration.redis_budget_bytes,
        delay_seconds=configuration.politeness_min_delay,
        claim_seconds=max(2 * configuration.download_timeout, configuration.lease_seconds),
        worker=configuration.worker_name,
    )
    parameters = connection_parameters(crawler.settings, _retry(configuration.lease_seconds))
    agreed = identity(configuration, choices, crawler.spider)
    backend = RedisBackend(
        parameters, options, agreed, lambda origin: key.of_url(f"{origin}/"), clock, learnt
    )
    return backend, clock


def _retry(lease_seconds: float) -> float:
    """Return how long to wait for an answer of Redis: a quarter of a lease, but two seconds for a busy machine."""
    return max(lease_seconds / 4, min(2.0, lease_seconds * 2 / 3))


def connection_parameters(
    settings: BaseSettings, patience_seconds: float = TIMEOUT_SECONDS
) -> dict[str, Any]:
    """Return the parameters of ``redis.Redis``, with ``url`` if REDIS_URL is set.

    ``REDIS_PARAMS``, ``REDIS_HOST``, ``REDIS_PORT`` and so on have the same meaning as in scrapy-redis; only the
    class of the connection is ours. Unless REDIS_PARAMS has other values, a server that has not answered for
    ``patience_seconds`` counts as away.
    """
    own = settings.copy()
    own.frozen = False  # the settings of a crawl are frozen once its parts are being built
    timeout = min(max(patience_seconds, 0.5), TIMEOUT_SECONDS)
    ours = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
    given = {**ours, **own.getdict("REDIS_PARAMS"), "redis_cls": _Parameters}
    own.set("REDIS_PARAMS", given, priority="cmdline")
    # Answers must stay bytes.
    own.set("REDIS_DECODE_RESPONSES", False, priority="cmdline")
    return dict(get_redis_from_settings(own))


def identity(configuration: Configuration, choices: CrawlRules, spider: object) -> dict[str, str]:
    """Return the settings on which all processes of a crawl must agree, as messages show them."""
    domains = getattr(spider, "domains", None)
    scope = {
        "DEPTH_LIMIT": configuration.depth_limit,
        "URLLENGTH_LIMIT": configuration.urllength_limit,
        "EXTENSIONS_REFUSED": digest_of(sorted(configuration.extensions_refused)),
        **{name: digest_of(one.text for one in choices.expressions.get(name, ())) for name in _LISTS},
        "TOP_LEVEL_DOMAINS": digest_of(sorted(configuration.top_level_domains)),
        "PORTS_ALLOWED": ",".join(map(str, sorted(configuration.ports_allowed))) or "all",
        **{name: getattr(configuration, name.lower()) for name in _SHARED_DELAYS},
        "POLITENESS_GROUPS_FILE": digest_of(map(str, choices.shared_clocks.groups.groups)),
        "PATH_SEGMENTS_MAX": configuration.path_segments_max,
        "PATH_REPEATS_MAX": configuration.path_repeats_max,
        "REQUESTS_PER_KEY_MAX": configuration.requests_per_key_max,
        "PAGE_BUDGET": configuration.page_budget,
        "CONTENT_SEEN": configuration.content_seen or "False",
        "CRAWL_MODE": getattr(spider, "mode", None) or configuration.crawl_mode,
        "REVISIT_CHANGE": configuration.revisit_change,
        # The list itself is read again while the crawl runs, and may have another path on each machine.
        "EXCLUSION_FILE": "given" if configuration.exclusion_file else "none",
        "FETCH_PRIVATE_ADDRESSES": _shown(configuration.fetch_private_addresses),
        "allow": getattr(spider, "allow", None) or "none",
        "stay": getattr(spider, "stay", None) or "none",
        "domains": whitelist_of(domains).digest() if domains else "none",
        "allowed_domains": digest_of(sorted(getattr(spider, "allowed_domains", None) or ())),
    }
    fixed = {"POLITENESS_KEY": configuration.politeness_key, **choices.comparison()}
    return {**fixed, **{f"{SCOPE}{name}": str(value) for name, value in scope.items()}}


def _shown(private: bool | tuple[Any, ...]) -> str:
    return str(private) if isinstance(private, bool) else ",".join(sorted(map(str, private)))
