"""Beliefs: what a crawl has learned of sites from their pages, and withholds URLs by, until it is taken back. A DUST
rule is one, and a pair of mirrors.

A belief is proved with pages before it is used, is stored for all processes of the crawl, may be doubted, and is
undone for good by a page that differs or by an operator. ``belief`` has what all beliefs have, ``store`` the rows and
the changes of their stores, ``feature`` the course of a feature that has beliefs, and ``command`` that of a command
that lists and undoes them."""
