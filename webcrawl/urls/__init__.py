"""URLs: their resolution, comparison, fingerprints and politeness keys, and the readers of seeds.

::

    href, base, charset --resolve--> URL as a browser would request it    (this is what is fetched)
                                       |
                                       +--canonical--> canonical form --fingerprint--> 64-bit integer (seen test)
                                       |
                                       +--politeness key--> the queue and the clock of the URL

The functions keep no state except bounded caches, do not use the network, and do not raise on bad input, apart from
the readers of seeds: a link that no browser would follow is None.
"""
