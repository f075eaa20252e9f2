"""What a project writes that wants its own spiders on this crawler."""

from webcrawl.settings import *  # noqa: F403

SPIDER_MODULES = ["tests.crawl.ordinary.spiders"]
ITEM_PIPELINES = {"tests.crawl.ordinary.pipelines.Dropping": 300}
