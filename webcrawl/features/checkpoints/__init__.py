"""Checkpoints: consistent copies of a crawl, taken while it runs."""
