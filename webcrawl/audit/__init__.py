"""The audit of a crawl's politeness by its fetch logs alone."""

TOLERANCE_SECONDS = 0.01
"""The default tolerance in seconds for differences between the clocks of a crawl's machines."""
