"""The judges: one module a subject, each a function ``judge(evidence)`` that yields a judgement for each promise.

They read the log of the web, the files of the crawl, exit statuses and memory, never the crawler's own words. Nothing
here imports webcrawl.
"""
