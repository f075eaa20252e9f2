"""From what a page says to what the frontier stores: the first stop on a URL's route.

::

    href, base, charset --resolve--> URL as a browser would request it    (this is what is fetched)
                                       |
                                       +--canonical--> comparable form --fingerprint--> 64-bit integer (seen
                                       test) | +--politeness key--> whose clock and queue it belongs to

Nothing in here keeps state but bounded caches, nothing touches the network, and apart from the readers of
seeds nothing raises on bad input: a link that no browser would follow is None.
"""
