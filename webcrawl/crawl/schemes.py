"""The schemes that a crawl fetches: http and https, and those with a ``SchemeHandler`` in DOWNLOAD_HANDLERS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings.default_settings import DOWNLOAD_HANDLERS_BASE
from scrapy.utils.misc import load_object

from webcrawl.errors import ConfigurationError, Problem
from webcrawl.urls.schemes import NEVER, WEB, Schemes

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def supported_schemes(settings: BaseSettings) -> Schemes:
    """Return the schemes whose handler is a ``SchemeHandler``. URLs of all others come from Requests of spiders only,
    and if they were found on a page, only if DOWNLOAD_HANDLERS itself names a handler, be it Scrapy's own.

    :raises ConfigurationError: a handler cannot be imported, or is for a scheme that is never followed
    """
    handlers = {
        scheme: handler
        for scheme, handler in settings.getwithbase("DOWNLOAD_HANDLERS").items()
        if handler is not None and scheme not in WEB.names and handler != DOWNLOAD_HANDLERS_BASE.get(scheme)
    }
    others = frozenset(
        scheme
        for scheme, handler in settings.getdict("DOWNLOAD_HANDLERS").items()
        if handler is not None and scheme not in WEB.names
    )
    if not handlers:
        return Schemes(others=others) if others else WEB
    # Only crawls that fetch other schemes need it.
    from webcrawl.fetching.scheme_handler import SchemeHandler

    robots: dict[str, str | None] = {}
    for scheme, path in handlers.items():
        try:
            handler = load_object(path)
        except (ImportError, NameError, ValueError) as error:
            raise ConfigurationError(
                [Problem("DOWNLOAD_HANDLERS", f"{scheme} must have an import path of a handler ({error})")]
            ) from error
        if isinstance(handler, type) and issubclass(handler, SchemeHandler):
            if scheme in NEVER or scheme != scheme.lower():
                why = f"{scheme} is no scheme in lower case whose URLs name a host"
                raise ConfigurationError([Problem("DOWNLOAD_HANDLERS", why)])
            robots[scheme] = handler.robots_path
    return Schemes(robots, others - robots.keys())
