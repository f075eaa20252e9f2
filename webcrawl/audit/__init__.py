"""Whether a crawl was polite, recomputed from its fetch logs alone."""
