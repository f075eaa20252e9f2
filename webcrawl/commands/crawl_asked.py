"""Which crawl a command is about: that of the settings, on Redis or in a JOBDIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.commands.local_crawl import LocalCrawl

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.commands.shared_crawl import SharedCrawl
    from webcrawl.configuration import Configuration

NOT_FROM_OUTSIDE = "a crawl with FRONTIER_BACKEND=memory cannot be looked at from outside"


def crawl_asked(
    settings: BaseSettings, configuration: Configuration, spider: str
) -> SharedCrawl | LocalCrawl | None:
    """The crawl of ``spider``; None when the settings name none that can be looked at from outside."""
    if configuration.frontier_backend == "redis":
        # Who looks at a folder does not wait for what he does not need.
        from webcrawl.commands.shared_crawl import SharedCrawl
        from webcrawl.sharing import connection_parameters

        return SharedCrawl(
            connection_parameters(settings),
            spider,
            configuration.lease_seconds,
            configuration.politeness_min_delay,
        )
    if configuration.frontier_backend == "memory" or configuration.jobdir is None:
        return None
    return LocalCrawl(configuration.jobdir)
