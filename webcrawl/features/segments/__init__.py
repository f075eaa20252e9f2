"""Segments: a crawl in parts. Its queue is exported as files, separate crawls fetch one file each, and results are
imported.

::

    queue of a crawl -> export -> segment-00001.jsonl.gz, ... (whole politeness keys, sorted)
                                     |
                                     v  one crawl each, on any machine: found URLs are recorded, not followed
                                  JOBDIR: states of its URLs, found.jsonl
                                     |
    queue of a crawl <- import <-----+  fetched URLs are settled, found URLs are queued if they are new

A key is in one segment only, so crawls of segments that were exported together share no clock and no URL.
"""
