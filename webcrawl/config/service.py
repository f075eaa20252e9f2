"""Settings of the service that runs several crawls."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.config.readers import switch, whole
from webcrawl.config.setting import setting


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    service_crawls_max: int = setting(
        whole(1, 1000),
        4,
        "crawls",
        "Crawls of `scrapy serve` that run at the same time. Further ones wait in order.",
    )
    service_restarts_max: int = setting(
        whole(0, 1_000_000),
        5,
        "crashes",
        "Crashes of a crawl in a row after which `scrapy serve` still starts it again.",
    )
    service_private_seeds: bool = setting(
        switch(),
        False,
        "",
        "Let the seeds that operators give to `scrapy serve` name hosts with private addresses.",
    )
