"""The parts of one crawl, put together from its settings, and where Scrapy meets them."""
