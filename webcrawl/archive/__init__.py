"""The archive of a crawl: every exchange in WARC files, every request as a line of the fetch log.

::

    outcome of a fetch -> Entry(FetchRecord, Capture) -> Archive.append(group) -> durable
                                                            |         |
                                       JOBDIR/warc/*.warc.gz          JOBDIR/fetch.jsonl -> fetch-*.jsonl.gz

The archive is written between the fetch and the frontier's commit: a group of entries is durable before the frontier
marks any of its URLs as done, so a crash costs a second fetch and never a page. This package does not import scrapy
or the frontier and needs no event loop; it runs on one worker thread at a time.
"""
