"""webcrawl: a polite, fast, distributed web crawler built on Scrapy.

Code that uses SQLite or Redis is in ``storage``, optional abilities are in ``features``, and the settings in
``config``. Folders with Scrapy's names (``spiders``, ``downloadermiddlewares``, ``spidermiddlewares``,
``extensions``, ``commands``) and ``scheduler.py`` connect the crawl to Scrapy. The policy (``urls``, ``scope``,
``politeness``, ``frontier``, ``parsing``, ``archive``, ``reports`` and others, see docs/internals/architecture.md)
does not import scrapy, and gets the time as an argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.version import __version__ as __version__

if TYPE_CHECKING:
    from webcrawl.addon import Addon as Addon


def __getattr__(name: str) -> object:
    # Child processes import this package, and need neither Scrapy nor the settings.
    if name == "Addon":
        from webcrawl.addon import Addon

        return Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
