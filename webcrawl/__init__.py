"""webcrawl: a polite, fast, distributed web crawler built on Scrapy.

Folders with Scrapy's names (``spiders``, ``downloadermiddlewares``, ``spidermiddlewares``, ``extensions``,
``commands``, ``downloadhandlers``) and ``scheduler.py`` are thin wiring. Folders with the crawler's nouns
(``urls``, ``scope``, ``hosts``, ``frontier``, ``documents``, ``archive``, ``reports``) are the machine: they
never import scrapy and are told the time instead of asking for it.
"""

__version__ = "0.1.0"
