"""The link log: the links of every page, written while the crawl runs, and queries about them.

::

    pages with their links -> line -> members of a segment -> index beside it
                                              |
            out, in (lookup) <- reading <-----+-----> graph -> ranking, forms

``log.LinkLog``, a sink of the archive, writes it; all other modules only read, also while the crawl runs.
"""
