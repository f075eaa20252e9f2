"""Focused crawling: what a page is worth, and what a link may be worth before it is fetched.

``judge`` makes of the setting FOCUS what says of each fetched page how relevant it is, and ``judges`` has one file
for each way to say it. A link carries ``traits``, what is known of it where it was found; ``features`` are made of
them, ``weights`` of features are what is learned, and ``learner`` guesses by them. ``credit`` says which way led to
what, ``skill`` whether guesses are better than chance, ``scorer`` gives the frontier its levels, ``store`` is where
all that is kept. Why it is done like this: docs/decisions/0020-focus.md; how it is used: docs/focus.md.
"""
