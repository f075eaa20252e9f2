"""Settings of the service that runs several crawls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.readers import SettingReader, as_list, folder, switch, whole
from webcrawl.config.setting import setting

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}").fullmatch
_OF_SERVICE = ("DASHBOARD_", "JOBDIR", "METRICS_", "SERVICE_", "SETTINGS_PREFIXES", "SEEDS_PRIVATE_ADDRESSES")
"""Beginnings of the names of settings that no order may have, whatever is opened."""


def is_of_service(name: str) -> bool:
    """Return whether the service alone sets this setting of its crawls."""
    return name.startswith(_OF_SERVICE)


def order_settings() -> SettingReader:
    """Names of settings that an order may have, without those that are for the service to set."""

    def read(value: object) -> tuple[str, ...]:
        names = tuple(as_list(value))
        if any(not _NAME(name) or is_of_service(name) for name in names):
            raise ValueError
        return names

    return SettingReader(
        "a list of names of settings such as MYSPIDER_DEPTH,CONCURRENT_ITEMS, none of "
        f"{', '.join(f'{name}*' if name.endswith('_') else name for name in _OF_SERVICE)}",
        read,
    )


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    service_crawls_max: int = setting(
        whole(1, 1000),
        4,
        "crawls",
        "Maximum number of crawls that `scrapy serve` runs at the same time. Others wait in a queue.",
    )
    service_restarts_max: int = setting(
        whole(0, 1_000_000),
        5,
        "crashes",
        "Number of consecutive crashes after which `scrapy serve` still restarts a crawl.",
    )
    service_private_seeds: bool = setting(
        switch(),
        False,
        "",
        "Let the seeds that operators give to `scrapy serve` name hosts with private addresses.",
    )
    service_order_settings: tuple[str, ...] = setting(
        order_settings(),
        [],
        "",
        "Further settings that an order to `scrapy serve` may have, beside those of its list. Name none that runs "
        "code or names a file.",
    )
    service_clocks: Path | None = setting(
        folder("a folder"),
        None,
        "",
        "Folder of the clocks that crawls of this machine share: one request to a site at a time, over all of them. "
        "`scrapy serve` gives its crawls one.",
    )
