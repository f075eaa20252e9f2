"""An add-on with what a user sets for a site of their own on their own machine, and a log like Scrapy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_SET = {
    "CRAWLER_CONTACT": "https://crawler.example/about",
    "FETCH_PRIVATE_ADDRESSES": True,
    "LOG_LEVEL": "DEBUG",
    "STATS_DUMP": True,
    "POLITENESS_FACTOR": 0.0,
    "POLITENESS_MIN_DELAY": 0.0,
}


_PRIORITY = 17
"""Above add-ons, and below the settings that a test gives as those of its project."""


class Loopback:
    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Scrapy makes the handler of its log of these."""
        _apply(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        _apply(settings)


def _apply(settings: BaseSettings) -> None:
    for name, value in _SET.items():
        settings.set(name, value, _PRIORITY)
