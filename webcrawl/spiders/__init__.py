"""The spiders. ``broad`` is the crawler; other spiders can be added here and use the same components."""
