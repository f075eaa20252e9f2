"""Which URLs belong to the crawl: between resolving a link and queueing it, and again before fetching it.

A rule is a small class in a file of its own and answers one question. ``Scope`` asks the rules in sequence;
the first that objects decides, and the Verdict names it. Cheap rules come first, as in the order of this
list::

    scheme -> length -> depth -> extension -> private addresses -> exclusion -> whitelist -> allow

Rules hold no state but bounded caches, and lists that were read from files.
"""
