"""Exports of a crawl for other programs: its sites as a tree, lists of URLs, seeds, and the fetch log as a table.

They are computed from the fetch logs, and the states of URLs also from the frontier, line by line in bounded memory.
"""
