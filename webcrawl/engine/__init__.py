"""Scrapy's core as a crawl of the frontier runs it, by the shortest way.

``engine`` carries a request from the scheduler to its items in one task, ``downloader`` has no queues,
``middleware_chain`` and ``spider_chain`` go through Scrapy's chains awaiting only what has to be awaited,
``listening`` knows who hears a signal, and ``header_fields`` looks fields up by their written names. When a new
Scrapy differs, tests/crawl/test_engine_hooks.py fails first.
"""
