"""The consistency check of a crawl in Redis: every known URL is in exactly one state, and every count agrees.

A shard is looked at as a whole, from outside: ``reading`` reads it, ``records`` compares hosts, queues, indexes and
the seen test, ``look`` combines the comparisons. ``check`` decides how often to look, and has disagreements repaired
by ``repairs``. Memory is bounded by the hosts of one shard (about 100 bytes each) and by ``look.URLS_AT_ONCE``.
"""

from webcrawl.storage.redis.check.check import Audit

__all__ = ["Audit"]
