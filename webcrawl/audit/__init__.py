"""The audit of a crawl's politeness by its fetch logs alone."""
