"""The parts of one crawl, built from its settings, and their connection to Scrapy."""
