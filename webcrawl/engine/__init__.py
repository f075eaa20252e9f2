"""Scrapy's engine, reduced to the shortest path for requests of the frontier.

``engine`` runs a request from the scheduler to its items in one task, ``downloader`` has no queues, ``chains`` runs
Scrapy's middleware chains and awaits only if necessary, and ``signals`` finds the receivers of a signal.
``scrapy_private`` has all private names of Scrapy that are used; when a new Scrapy differs,
tests/crawl/test_engine_hooks.py fails first. ``make bench ARGS=engine`` measures what each part saves.
"""
