"""The first messages of a crawl: which crawl it continues or joins, and which of its parts are not this project's."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.python import global_object_name

from webcrawl.crawl.essentials import components, foreign_handlers
from webcrawl.reports import text
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)


def tell_of_beginning(context: CrawlContext, counts: Counts, settings: BaseSettings) -> None:
    """Log the start of the crawl, and the handlers that are not ours."""
    if welcome := _welcome(context, counts):
        logger.info("%s", welcome)
    for middleware in components(settings, "DOWNLOADER_MIDDLEWARES"):
        name = global_object_name(middleware)
        if "useragent" in middleware.__name__.lower() and not name.startswith(("scrapy.", "webcrawl.")):
            logger.warning(
                "%s has no effect: all requests are sent with the User-Agent for which robots.txt is read, %s. "
                "Set USER_AGENT, or the header of a Request",
                name,
                context.configuration.user_agent,
            )
    schemes: dict[str, list[str]] = {}
    for scheme, handler in foreign_handlers(settings):
        schemes.setdefault(handler, []).append(scheme)
    for handler, names in schemes.items():
        logger.warning(
            "%s is fetched by %s. For what it fetches the crawl does not check private addresses and exclusions when "
            "it connects, does not apply MIME_TYPES_WANTED and DOWNLOAD_MAXSIZE, and does not log the IP address. "
            "WARC files have resource records of its pages, without heads",
            " and ".join(names),
            handler,
        )


def _welcome(context: CrawlContext, counts: Counts) -> str | None:
    """Return the message for a crawl that is continued or joined; None for a new one of this process alone."""
    backend, begun = context.backend, bool(counts.done or counts.queued)
    figures = (
        f": {text.things(counts.done, 'URL')} done, {text.count(counts.queued)} queued on "
        f"{text.things(counts.hosts, 'host')}"
    )
    folder = context.jobdir.path if context.jobdir else "memory"
    if not isinstance(backend, SharedBackend):
        return f"Going on with the crawl in {folder}{figures}" if begun else None
    others = backend.workers - 1
    verb = "Joining the" if others else "Going on with the" if begun else "Beginning a"
    beside = f" beside {text.things(others, 'other')}" if others else ""
    message = f"{verb} crawl on {backend.place} as worker {context.configuration.worker_name}{beside}"
    kept = "" if context.jobdir is None else f". The data of this worker is kept in {folder}"
    return f"{message}{figures if others or begun else ''}{kept}"
