"""Pushed URLs: URLs that are added to a list in Redis while a crawl runs."""
