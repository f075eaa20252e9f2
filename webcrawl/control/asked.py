"""The crawl that the settings of a command name, on Redis or in a JOBDIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spiderloader import get_spider_loader

from webcrawl.config import Configuration
from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from webcrawl.control.local import LocalCrawl
    from webcrawl.control.shared import SharedCrawl

NOT_FROM_OUTSIDE = "a crawl with FRONTIER_BACKEND=memory cannot be looked at from outside"


def take_settings_of(name: str, settings: BaseSettings) -> type[Spider] | None:
    """Apply the settings of the spider ``name``, which may say where its crawl is, and return it; None if it is not
    in this project, but only a name in Redis.
    """
    loader = get_spider_loader(settings)
    if name not in loader.list():
        return None
    spider = loader.load(name)
    spider.update_settings(settings)
    return spider


def crawl_named(settings: BaseSettings, spider: str) -> SharedCrawl | LocalCrawl:
    """Return the crawl that the settings name. :raises CrawlError: they name none that other processes can read"""
    configuration = Configuration.from_settings(settings)
    crawl = crawl_asked(settings, configuration, spider)
    if crawl is not None:
        return crawl
    if configuration.frontier_backend == "memory":
        raise CrawlError(NOT_FROM_OUTSIDE)
    raise CrawlError("which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR")


def crawl_asked(
    settings: BaseSettings, configuration: Configuration, spider: str
) -> SharedCrawl | LocalCrawl | None:
    """Return the crawl of ``spider``; None if the settings name none that other processes can read."""
    if configuration.frontier_backend == "redis":
        # A crawl in a folder does not need this import.
        from webcrawl.control.shared import SharedCrawl
        from webcrawl.crawl.redis import connection_parameters

        return SharedCrawl(
            connection_parameters(settings),
            spider,
            configuration.lease_seconds,
            configuration.politeness_min_delay,
        )
    if configuration.frontier_backend == "memory" or configuration.jobdir is None:
        return None
    # Scrapy imports all commands at each start.
    from webcrawl.control.local import LocalCrawl

    return LocalCrawl(configuration.jobdir)
