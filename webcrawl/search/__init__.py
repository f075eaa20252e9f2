"""Full text: what a crawl's pages say, found by words while it runs and after it.

Where this stands on a URL's route: behind the archive, as a sink of the setting ``ARCHIVE_SINKS``.

::

    process of the archive                              process of the index (indexer)
      store: a group of entries                           journal: read as far as it is kept
        -> document: what an index has of a page            -> engine: many changes at a time, then durable
        -> journal: durable with the group        ->        -> journal: segments that were read go away

    scrapy search: query -> engine of each folder -> merged

A change (a page's text, or that it has none any more) is on the disk before its URL is done, so neither a crash nor
an engine that is away loses one. Changes are taken in the order of the journal and may come twice: the last one of a
URL counts.
"""
