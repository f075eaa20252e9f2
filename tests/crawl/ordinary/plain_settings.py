"""The project of ``settings.py`` without this crawler: what plain Scrapy counts is compared with what it counts."""

SPIDER_MODULES = ["tests.crawl.ordinary.spiders"]
ROBOTSTXT_OBEY = True
TWISTED_DNS_RESOLVER = "tests.fakeweb.scrapy_names.LoopbackResolver"
TELNETCONSOLE_ENABLED = False
