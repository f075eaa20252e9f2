"""Trap detection: finds parts of a site that have ever more URLs and no new content, and quarantines them.

``pattern`` gives each URL a shape: the pattern of its path, its parameters and its sessions. ``url_shape`` finds
dates in URLs and the relation between two URLs. ``novelty`` measures how much of a page's content is new, and limits
how much is read. ``pattern_evaluator`` evaluates the patterns that have several pages, with the statistics of
``parameters``; ``sessions`` finds parts of URLs that do not change the page. ``detector`` passes every fetched page
to both. ``quarantine`` holds the patterns found to be traps and their withheld URLs, and has the scope rule that
refuses these; ``store`` is the contract of its storage. ``feature`` and ``extension`` connect all this to the crawl.
Design: docs/decisions/0010-traps.md."""
