"""Finds out if a crawl draws pages in a browser, and which settings of the browser would bypass the crawl's rules."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

HANDLER = "webcrawl.fetching.playwright.PlaywrightDownloadHandler"
PACKAGE_HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
"""The handler that scrapy-playwright's README names: its browser fetches by itself, without robots.txt and clocks."""

_ELSEWHERE = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL", "PLAYWRIGHT_BROWSER_PROVIDER")
_PROXIES = ("--proxy", "--no-proxy")


def draws(settings: BaseSettings) -> bool:
    """Return True if the crawl draws pages."""
    return HANDLER in _handlers(settings).values()


def replace_handler(settings: BaseSettings) -> None:
    """Name the crawl's own handler where scrapy-playwright's is named."""
    handlers, name = _handlers(settings), "DOWNLOAD_HANDLERS"
    if PACKAGE_HANDLER in handlers.values():
        handlers_set = settings.getdict(name)
        handlers_set |= {scheme: HANDLER for scheme, path in handlers.items() if path == PACKAGE_HANDLER}
        settings.set(name, handlers_set, priority=settings.getpriority(name) or 0)


def problems(settings: BaseSettings) -> Iterator[Problem]:
    """Yield what is wrong with the settings of the browser."""
    handlers = _handlers(settings).values()
    if any(_derives_from_package(path) for path in handlers if path != HANDLER):
        why = f"write {HANDLER} in place of {PACKAGE_HANDLER}, whose browser obeys neither robots.txt nor delays"
        yield Problem("DOWNLOAD_HANDLERS", why)
    if HANDLER not in handlers:
        return
    if find_spec("scrapy_playwright") is None:
        yield Problem("DOWNLOAD_HANDLERS", f"{HANDLER} needs a package: pip install scrapy-playwright")
    for name in _ELSEWHERE:
        if settings.get(name):
            yield Problem(
                name, "must not be set: a browser that the crawl does not start may fetch by itself"
            )
    if settings.get("PLAYWRIGHT_BROWSER_TYPE", "chromium") != "chromium":
        yield Problem("PLAYWRIGHT_BROWSER_TYPE", "must be chromium, the only browser that the crawl confines")
    options = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
    if "proxy" in options or any(str(argument).startswith(_PROXIES) for argument in options.get("args", ())):
        why = 'must name no proxy: the browser fetches nothing itself. Set meta["proxy"] of the Request'
        yield Problem("PLAYWRIGHT_LAUNCH_OPTIONS", why)


def _handlers(settings: BaseSettings) -> dict[str, str]:
    """Return the paths of the handlers of http and https that are not the crawl's default."""
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    web_handlers = {scheme: handlers.get(scheme) for scheme in ("http", "https")}
    return {
        scheme: handler if isinstance(handler, str) else global_object_name(handler)
        for scheme, handler in web_handlers.items()
        if handler is not None
    }


def _derives_from_package(path: str) -> bool:
    return any(global_object_name(base) == PACKAGE_HANDLER for base in load_object(path).__mro__)
