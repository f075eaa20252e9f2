"""A judge outside the parts: every promise of a crawler judged by its effect.

    web/        hostile and ordinary sites, with a log of their own
    judges/     read that log, the files of a crawl, exit statuses and a terminal, never the crawler's own words
    crawlers/   adapters: how a crawler is started with seeds, limits and a folder
    promises/   commands, endpoints, settings and exit statuses of webcrawl
    scorecard   one judged promise, and all of them as text, JSON and Markdown

``python -m tests.gauntlet --help`` lists the subcommands. Nothing in ``web/`` and ``judges/`` imports webcrawl.
"""
