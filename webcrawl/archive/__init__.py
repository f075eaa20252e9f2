"""What a crawl keeps: every exchange in WARC files, every request as a line of the fetch log.

::

    outcome of a fetch -> Entry(FetchRecord, Capture) -> Archive.append(group) -> durable
                                                            |         |
                                       JOBDIR/warc/*.warc.gz          JOBDIR/fetch.jsonl -> fetch-*.jsonl.gz

It stands between the fetch and the frontier's commit: a group of entries is on the disk before the frontier
may call any of their URLs done, so a crash costs a second fetch and never a page. Nothing in here knows
scrapy, the frontier or an event loop; all of it runs on one worker thread at a time.
"""
