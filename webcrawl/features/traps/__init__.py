"""Traps: places of a site that have ever more URLs and nothing new to say.

``pattern`` says which URLs are of one kind, ``wording`` what a page says, ``novelty`` how much of it is new.
``judge`` watches the kinds that have several pages (``kinship``, ``dates`` and ``charge`` say what a page counts
for), ``sessions`` parts of URLs that change nothing; ``lookout`` asks both about every fetched page, as long as the
``budget`` allows to read one. ``quarantine``
holds what was found guilty and what is withheld, ``rule`` is its word on a URL, and ``store`` is where it outlives
the process. Why it is done like this: docs/decisions/0010-traps.md.
"""
