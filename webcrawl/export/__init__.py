"""What of a crawl is handed on to others: its sites as a tree, lists of URLs, seeds, and the fetch log as a table.

Everything is read from the fetch logs, and the states of URLs also from the frontier's books, line by line and in
memory that does not grow with them.
"""
