"""The crawl that the settings of a command name, on Redis or in a JOBDIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spiderloader import get_spider_loader

from webcrawl.config import Configuration
from webcrawl.errors import CrawlError
from webcrawl.storage import technology_in

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.storage.technology import Technology


def no_inspection_message(configuration: Configuration) -> str:
    """Return the reason why other processes cannot read a crawl."""
    return f"a crawl with FRONTIER_BACKEND={configuration.storage.name} cannot be inspected from outside"


def apply_spider_settings(name: str, settings: BaseSettings) -> type[Spider] | None:
    """Apply the settings of the spider ``name``, which may say where its crawl is, and return it; None if it is not
    in this project, but only a name in Redis.
    """
    loader = get_spider_loader(settings)
    if name not in loader.list():
        return None
    spider = loader.load(name)
    spider.update_settings(settings)
    return spider


def require_crawl(settings: BaseSettings, spider: str) -> StoredCrawl:
    """Return the crawl that the settings name. :raises CrawlError: they name none that other processes can read"""
    configuration = Configuration.from_settings(settings)
    crawl = select_crawl(settings, configuration, spider)
    if crawl is not None:
        return crawl
    if not configuration.storage.is_lasting:
        raise CrawlError(no_inspection_message(configuration))
    raise CrawlError("which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR")


def select_crawl(settings: BaseSettings, configuration: Configuration, spider: str) -> StoredCrawl | None:
    """Return the crawl of ``spider``; None if the settings name none that other processes can read."""
    storage = configuration.storage
    if storage.is_shared:
        # A crawl in a folder does not need this import.
        from webcrawl.control.shared import SharedCrawl

        return SharedCrawl(
            storage,
            spider,
            lambda: storage.inspect_shared(configuration, settings, spider),
        )
    if (folder := configuration.jobdir) is None:
        return None
    return select_crawl_in(folder, technology_in(folder) or storage)


def select_crawl_in(folder: Path, storage: Technology, *, starts: bool = True) -> StoredCrawl | None:
    """Return the crawl in a JOBDIR; None if the technology keeps none there.

    ``starts``: a server of the crawl alone that does not run is started when it is asked, and ends with this process.
    """
    if storage.keeper is not None and storage.is_begun_in(folder):
        # Few crawls have several workers in one JOBDIR.
        from webcrawl.control.shared import WorkersCrawl

        return WorkersCrawl(folder, storage, starts=starts)
    if storage.frontier_file is None:
        return None
    # Scrapy imports all commands at each start.
    from webcrawl.control.local import LocalCrawl

    return LocalCrawl(folder, storage)
