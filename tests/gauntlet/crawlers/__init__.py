"""Adapters: how each crawler is told seeds, limits and a folder, by its documented options.

An adapter for another crawler is a class like those here, entered in ``CRAWLERS``; without one, see ``serve`` and
``judge`` of ``python -m tests.gauntlet``.
"""

from tests.gauntlet.crawlers.base import Crawler, Order
from tests.gauntlet.crawlers.peers import PEERS
from tests.gauntlet.crawlers.webcrawl import WebcrawlOnRedis, WebcrawlOnSqlite

ADAPTERS: tuple[type[Crawler], ...] = (WebcrawlOnSqlite, WebcrawlOnRedis, *PEERS)
CRAWLERS = {adapter.name: adapter for adapter in ADAPTERS}

__all__ = ["CRAWLERS", "PEERS", "Crawler", "Order"]
