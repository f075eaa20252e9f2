"""The link log: which page links to what, kept as the crawl goes, and what can be asked of it afterwards.

::

    pages with their links -> line -> members of a segment -> index beside it
                                              |
            out, in (lookup) <- reading <-----+-----> graph -> ranking, forms

A store of the archive writes it (``log.LinkLog``); everything else only reads, also while the crawl runs.
"""
