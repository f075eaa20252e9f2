"""scrapy-user-agents, as its README adds it."""

from scrapy import Spider


class AgentsSpider(Spider):
    """-a origin=..."""

    name = "agents"
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
            "scrapy_user_agents.middlewares.RandomUserAgentMiddleware": 400,
        },
    }

    def __init__(self, origin, **arguments):
        super().__init__(**arguments)
        self.start_urls = [f"{origin}/x/echo"]

    def parse(self, response):
        yield {"sent": response.text}
