"""The limits of sitemaps by their protocol, which are the defaults of settings."""

URLS_MAX = 50_000
"""The number of URLs that the protocol allows in one file, and of sitemaps in one index."""

MAX_BYTES = 50 * 1024 * 1024
"""The number of bytes that the protocol allows for a file, uncompressed."""
