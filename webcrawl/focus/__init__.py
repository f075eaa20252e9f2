"""Focused crawling: what a page is worth, and what a link may be worth before it is fetched.

``judge`` makes of the setting FOCUS what says of each fetched page how relevant it is, and ``judges`` has one file
for each way to say it. Why it is done like this: docs/decisions/0020-focus.md; how it is used: docs/focus.md.
"""
