"""Full-text search in the pages of a crawl, while it runs and after it.

The index is fed by a sink of the setting ``ARCHIVE_SINKS``, after the archive.

::

    process of the archive                              process of the index (indexer)
      store: a group of entries                           journal: read as far as it is kept
        -> document: what an index has of a page            -> engine: many changes at a time, then durable
        -> journal: durable with the group        ->        -> journal: segments that were read go away

A change (a page's text, or its removal) is on the disk before its URL is done, so neither a crash nor an unavailable
engine loses one. Changes are applied in the order of the journal and may come twice: the last one of a URL counts.
"""
