"""URLs that are pushed for a crawl while it runs."""
