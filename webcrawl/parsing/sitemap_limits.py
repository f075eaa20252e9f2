"""The limits of sitemaps by their protocol. They are the defaults of settings, which each command reads, and so they
are apart from the parser.
"""

URLS_MAX = 50_000
"""The number of URLs that the protocol allows in one file, and of sitemaps in one index."""

MAX_BYTES = 50 * 1024 * 1024
"""The number of bytes that the protocol allows for a file, uncompressed."""
