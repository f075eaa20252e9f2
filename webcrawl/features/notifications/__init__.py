"""Notifications: an operator is told when a crawl ends, stalls, has many errors, or fills its disk."""
