"""Seed refill: a crawl that runs low on domains requests more seeds before it slows down.

::

    keys that have URLs < SEED_REFILL_THRESHOLD -> which process requests seeds, and when? (refill)
        -> a command or a function of the operator (sources) -> lines as in a file of seeds -> the frontier
"""
