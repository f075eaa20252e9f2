"""Revisits: a continuous crawl fetches pages again, remembers the history of each, and schedules its next visit.

``estimate`` has the history of a page's visits as a short text, and estimates from it how often the page changes;
``page`` has the values of a visit and of a remembered page. ``policies`` and ``freshness`` compute the time of the
next visit. These are pure: histories and times are passed in. ``visits`` applies visits to the pages in ``store``;
``due_pages`` adds due pages to the frontier. ``feature``, ``middleware`` and ``extension`` connect all this to the
crawl. ``report`` is the section of the report.
"""
