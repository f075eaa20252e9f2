"""What sitemaps and feeds say of pages that are known: believed as far as it proved true.

::

    a sitemap or feed is read (again) -> claims: which pages changed since our last visit
                                           |
                  trust in the site  ------+----> pages that are due earlier
                        ^                  v
                        |           some are marked
                        +--- and judged at a later reading: had a visit found a change?
"""
