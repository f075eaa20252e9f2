"""Hints: changes of known pages that sitemaps and feeds report, trusted as far as they have proved true.

::

    a sitemap or feed is read (again) -> claims: pages that changed since our last visit
                                           |
                  trust in the site  ------+----> pages become due earlier
                        ^                  v
                        |           some claims are marked
                        +--- and checked at a later reading: had a visit found a change?
"""
