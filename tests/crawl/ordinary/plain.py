"""A project that does not know this crawler: the measure of what its spiders get."""

SPIDER_MODULES = ["tests.crawl.ordinary.spiders"]
ROBOTSTXT_OBEY = True
TWISTED_DNS_RESOLVER = "tests.fakeweb.scrapy_names.LoopbackResolver"
