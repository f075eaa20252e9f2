"""scrapy-poet: a page object in place of parsing, and its client for a further request."""

import attrs
from scrapy import Request, Spider
from web_poet import HttpClient, WebPage, field


@attrs.define
class TitlePage(WebPage):
    client: HttpClient

    @field
    def title(self):
        return self.css("title::text").get()

    @field
    async def other(self):
        return (await self.client.get(self.urljoin("/x/echo?client"))).text

    async def to_item(self):
        return {"title": self.title, "other": await self.other}


class PosedSpider(Spider):
    """-a origin=..."""

    name = "posed"

    async def start(self):
        yield Request(f"{self.origin}/", self.page)

    async def page(self, response, page: TitlePage):
        yield await page.to_item()
