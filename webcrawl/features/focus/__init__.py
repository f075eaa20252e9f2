"""Focused crawling: rates how relevant fetched pages are, and estimates the worth of links before they are fetched.

``judge`` builds from the setting FOCUS the judge that rates each fetched page, and ``judges`` has the kinds of
judges. A link carries traits, the data known where it was found; ``features`` derives its features from them,
``weights`` holds the learned weight of each feature, and ``learner`` estimates links by them, checks whether its
estimates are better than chance, and gives the frontier its levels. ``credit`` rewards the pages that led to a
relevant one, and ``store`` keeps all that is learned. Design: docs/decisions/0020-focus.md; usage: docs/focus.md.
"""
