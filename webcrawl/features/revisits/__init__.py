"""Visits: pages that are fetched again, what is remembered of each, and when it is due.

``history`` is what past visits said of a page, in a short text; ``dates`` what its server says of its last change.
``policies`` make of it the time of the next visit. All of it is pure: histories and times are passed in.
"""
