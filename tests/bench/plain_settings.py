"""A project with nothing of ours: what ``plain`` is measured in."""

BOT_NAME = "plain"
SPIDER_MODULES = ["tests.bench.plain"]
STATS_DUMP = False
TWISTED_DNS_RESOLVER = "tests.fakeweb.scrapy_names.LoopbackResolver"
