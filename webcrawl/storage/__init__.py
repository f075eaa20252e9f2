"""The storage of a crawl's state. Each backend keeps the contract of ``webcrawl.storage.contract``."""
