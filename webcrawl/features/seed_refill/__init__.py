"""A crawl that runs low on domains asks for more seeds, before it slows.

::

    keys that have URLs < SEED_REFILL_THRESHOLD -> whose turn is it, and is it time? (turns)
        -> a command or a function of the operator's (sources) -> lines as in a file of seeds -> the frontier
"""
