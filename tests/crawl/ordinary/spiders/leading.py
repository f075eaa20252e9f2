"""A page that leads to other schemes than those of the web, by Requests and by the files of an item."""

from scrapy import Request, Spider


class Leading(Spider):
    """-a origin=ORIGIN -a file=URL -a ftp=URL"""

    name = "leading"

    async def start(self):
        yield Request(self.file, self.own)
        yield Request(f"{self.origin}/x/ok", self.parse)

    def own(self, response):
        yield {"own": response.text}

    def parse(self, response):
        for url in (self.file + "?found", self.ftp, "data:,text"):
            yield response.follow(url, self.read, errback=self.refused)
        yield {"file_urls": [self.file + "?listed", self.ftp + "listed"]}

    def read(self, response):
        yield {"read": response.url}

    def refused(self, failure):
        yield {"refused": failure.request.url.partition(":")[0], "why": getattr(failure.value, "rule", None)}
