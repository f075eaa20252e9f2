"""Levels of URLs by the links to them, counted while a crawl runs, in memory that does not grow with the crawl.

The links of a page are counted when it was parsed (``scorer``), and the frontier requests levels when it queues URLs
and again while they wait. The counts are in a ``worth_table`` of fixed size; ``scorer`` regularly saves them and
shares them among workers."""
