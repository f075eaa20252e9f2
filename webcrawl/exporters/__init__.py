"""Formats of feeds (Scrapy's FEED_EXPORTERS) that pages need beside those that Scrapy has."""
