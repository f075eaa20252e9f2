"""Focused crawling: rates how relevant fetched pages are, and estimates the worth of links before they are fetched.

``relevance`` builds from the setting FOCUS the classifier that rates each fetched page, and ``classifiers`` has the
kinds of classifiers. A link carries link features, the data known where it was found; ``link_features`` derives the
features of the model from them, ``weights`` holds the learned weight of each, and ``learner`` estimates links by
them, checks whether its estimates are better than chance, and gives the frontier its levels. ``credit`` rewards the
pages that led to a relevant one, and ``store`` saves the learned state. Design: docs/decisions/0020-focus.md; usage:
docs/guides/focus.md."""
