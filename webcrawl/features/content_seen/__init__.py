"""Content-seen test (Mercator, section 3.5): detects bodies that came before, from this URL or from another.

::

    response, decoded -> digest of its bytes -> first seen at? -> another URL: a duplicate, recorded and not processed
                                             -> the same URL: changed since it was fetched last, or not
"""
