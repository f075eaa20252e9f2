"""The parts of ``webcrawl/engine``, each replaced by Scrapy's own: what each of them saves, the part ``engine``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

WITHOUT = "BENCH_WITHOUT"
"""The environment variable that names the part that a crawl does without."""


def apply() -> None:
    """Replace the part that the environment names. Called before any module that uses it is imported."""
    if name := os.environ.get(WITHOUT):
        PARTS[name]()


def _signals() -> None:
    from webcrawl.fetching import signals

    def tell(manager: Any, signal: object, **facts: Any) -> None:
        manager.send_catch_log(signal, **facts)

    signals.tell = tell
    signals.has_listeners = lambda manager, signal: True


def _downloader_chain() -> None:
    from webcrawl.engine import chains

    async def carry(chain: Any, download: Any, request: Any) -> Any:
        return await chain.download_async(download, request)

    chains.carry = carry


def _spider_chain() -> None:
    from webcrawl.engine import chains, engine

    chains.is_plain = engine.is_plain = lambda chain: False


def _scraping() -> None:
    from webcrawl import scrapy_private
    from webcrawl.engine.engine import DirectEngine

    async def scraped(engine: Any, result: Any, request: Any) -> None:
        await scrapy_private.scrape(engine.scraper, result, request)

    DirectEngine._scrape_page = scraped  # type: ignore[method-assign]


def _one_task() -> None:
    from webcrawl.engine.engine import DirectEngine
    from webcrawl.scrapy_private import HookedEngine

    DirectEngine.begin_request = HookedEngine.begin_request  # type: ignore[method-assign]


PARTS: dict[str, Callable[[], None]] = {
    "signals": _signals,
    "downloader chain": _downloader_chain,
    "spider chain": _spider_chain,
    "scraping": _scraping,
    "one task": _one_task,
}
"""Each part of the engine that has a counterpart in Scrapy, with the function that puts that in its place."""
