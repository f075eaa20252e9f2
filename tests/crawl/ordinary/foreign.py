"""A project that has taken over the scheduler alone."""

SPIDER_MODULES = ["tests.crawl.ordinary.spiders.idiom"]
SCHEDULER = "webcrawl.scheduler.Scheduler"
