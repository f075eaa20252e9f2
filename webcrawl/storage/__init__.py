"""Where a crawl's state can live. Each backend keeps the contract of ``webcrawl.storage.contract``."""
