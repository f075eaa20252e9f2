"""webcrawl: a polite, fast, distributed web crawler built on Scrapy.

Code that uses SQLite or Redis is in ``storage``, optional abilities are in ``features``, and the settings in
``config``. Folders with Scrapy's names (``spiders``, ``downloadermiddlewares``, ``spidermiddlewares``,
``extensions``, ``commands``) and ``scheduler.py`` connect the crawl to Scrapy. The policy (``urls``, ``scope``,
``politeness``, ``frontier``, ``parsing``, ``archive``, ``reports`` and others, see docs/architecture.md) does not
import scrapy, and gets the time as an argument.
"""

__version__ = "0.1.0"
