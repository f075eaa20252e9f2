"""The consistency check of a crawl in Redis: every known URL is in exactly one state, and every count agrees.

A shard is checked as a whole, from outside: ``reader`` reads it, ``records`` compares hosts, queues, indexes and
the seen test, ``shard`` combines the comparisons. ``check`` decides how often each shard is checked, and has
disagreements repaired by ``repairs``. Memory is bounded by the hosts of one shard
(about 100 bytes each) and by ``shard.URLS_AT_ONCE``.
"""

from webcrawl.storage.redis.check.check import ConsistencyCheck

__all__ = ["ConsistencyCheck"]
