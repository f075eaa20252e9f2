"""Mirrors (Bharat and Broder, 1999): hosts that serve the same pages under another name are found, proved with pages,
and URLs of one whose path the other one has are withheld.

``evidence`` has what is remembered of hosts: digests of their pages, and signs by which candidates are found.
``pair`` judges two hosts by pages that both have. ``knowledge`` has the pairs of a crawl and the scope rule. These
are pure, with time passed in. ``store`` is the contract of their storage. ``withholding`` decides which URLs are
withheld, and which of these are owed. ``feature`` connects all this to the crawl.
Design: docs/decisions/0077-mirrors.md."""
