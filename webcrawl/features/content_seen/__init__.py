"""The content-seen test (Mercator, section 3.5): is what came back known already, from here or from elsewhere?

::

    response, decoded -> digest of its bytes -> first seen at? -> another URL: a duplicate, recorded and not processed
                                             -> the same URL: changed since it was fetched last, or not
"""
