"""The parameters of a connection to Redis, from the settings of scrapy-redis."""

from __future__ import annotations

from typing import Any

from scrapy.settings import BaseSettings
from scrapy_redis.connection import get_redis_from_settings

TIMEOUT_SECONDS = 30.0
"""The longest time to wait for an answer of Redis."""


class _Parameters(dict[str, Any]):
    """Takes the place of a connection in scrapy-redis, and keeps the parameters for it."""

    @classmethod
    def from_url(cls, url: str, **rest: Any) -> _Parameters:
        return cls(rest, url=url)


def connection_parameters(
    settings: BaseSettings, patience_seconds: float = TIMEOUT_SECONDS
) -> dict[str, Any]:
    """Return the parameters of ``redis.Redis``, with ``url`` if REDIS_URL is set.

    ``REDIS_PARAMS``, ``REDIS_HOST``, ``REDIS_PORT`` and so on have the same meaning as in scrapy-redis; only the
    class of the connection is ours. Unless REDIS_PARAMS has other values, a server that has not answered for
    ``patience_seconds`` counts as away.
    """
    own = BaseSettings({name: settings[name] for name in settings if name.startswith("REDIS_")})
    timeout = min(max(patience_seconds, 0.5), TIMEOUT_SECONDS)
    ours = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
    parameters = {**ours, **own.getdict("REDIS_PARAMS"), "redis_cls": _Parameters}
    own.set("REDIS_PARAMS", parameters, priority="cmdline")
    # Answers must stay bytes.
    own.set("REDIS_DECODE_RESPONSES", False, priority="cmdline")
    return dict(get_redis_from_settings(own))


def answer_timeout(lease_seconds: float) -> float:
    """Return how long to wait for an answer of Redis: a quarter of a lease, but two seconds for a busy machine."""
    return max(lease_seconds / 4, min(2.0, lease_seconds * 2 / 3))
