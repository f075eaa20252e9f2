"""Which crawl a command is about: that of the settings, on Redis or in a JOBDIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spiderloader import get_spider_loader

from webcrawl.config import Configuration
from webcrawl.control.local import LocalCrawl
from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from webcrawl.control.shared import SharedCrawl

NOT_FROM_OUTSIDE = "a crawl with FRONTIER_BACKEND=memory cannot be looked at from outside"


def take_settings_of(name: str, settings: BaseSettings) -> type[Spider] | None:
    """A spider of this project may say itself where its crawl is; others are only names in Redis, and are None."""
    loader = get_spider_loader(settings)
    if name not in loader.list():
        return None
    spider = loader.load(name)
    spider.update_settings(settings)
    return spider


def crawl_named(settings: BaseSettings, spider: str) -> SharedCrawl | LocalCrawl:
    """The crawl that the settings name. :raises CrawlError: they name none that can be looked at from outside"""
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
    """The crawl of ``spider``; None when the settings name none that can be looked at from outside."""
    if configuration.frontier_backend == "redis":
        # Who looks at a folder does not wait for what he does not need.
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
    return LocalCrawl(configuration.jobdir)
