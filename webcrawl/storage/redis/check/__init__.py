"""The check of a crawl's books in Redis: every URL known is in exactly one state, and every count agrees.

A shard is looked at as a whole, from outside: ``reading`` fetches, ``queues``, ``seen`` and ``indexes`` compare,
``look`` puts the three together. ``audit`` decides how often to look, and has what is wrong repaired by ``mending``.

Memory is bounded by the hosts of one shard (some 100 bytes each) and by ``look.URLS_AT_ONCE``.
"""

from webcrawl.storage.redis.check.check import Audit

__all__ = ["Audit"]
