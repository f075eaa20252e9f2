"""The spiders. ``broad`` is the crawler; others may stand beside it and share everything below them."""
