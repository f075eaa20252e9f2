"""A crawl in parts: its queue as files, crawls that fetch one of these and no more, and what they bring home.

::

    queue of a crawl -> export -> segment-00001.jsonl.gz, ... (whole politeness keys, sorted)
                                     |
                                     v  one crawl each, on any machine: what it finds is recorded, not followed
                                  JOBDIR: states of its URLs, found.jsonl
                                     |
    queue of a crawl <- import <-----+  what was fetched is settled, what was found is queued if it is new

A key is in one segment only, so crawls of segments that were exported together share no clock and no URL.
"""
