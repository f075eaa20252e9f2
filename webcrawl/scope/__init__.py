"""Scope: the rules that decide which URLs belong to the crawl, applied before queueing and again before fetching.

A rule is a small class and decides one question. ``Scope`` evaluates the rules in sequence; the first that objects
decides, and the Verdict names it. Cheap rules come first, as in the order of this list::

    scheme -> length -> depth -> extension -> private addresses -> exclusion -> whitelist -> allow

Rules hold no state except bounded caches, and lists that were read from files.
"""
