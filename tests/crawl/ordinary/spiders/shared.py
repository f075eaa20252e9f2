"""A spider as people write them, whose Requests any of several workers may have to make."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy import Field, FormRequest, Item, Request, Spider

PAGES = 12


class Section(Item):
    """What is known when a page is asked for."""

    name = Field()
    tags = Field()


@dataclass
class Mark:
    """The same as a dataclass."""

    number: int


class Shared(Spider):
    """-a origins=ORIGIN,ORIGIN,... of a fake web; its start is Scrapy's own, which asks with dont_filter."""

    name = "shared"

    def __init__(self, origins: str) -> None:
        super().__init__()
        self.start_urls = [f"{origin}/x/ok?start" for origin in origins.split(",")]

    def parse(self, response):
        origin = response.url.partition("/x/")[0]
        yield {"case": "start", "origin": origin}
        for number in range(PAGES):
            yield response.follow(
                f"/x/ok?page{number}",
                self.page,
                priority=number,
                cb_kwargs={"mark": Mark(number), "origin": origin},
                meta={"section": Section(name="é", tags={number, b"\xff"})},
            )
        yield FormRequest(
            f"{origin}/x/echo?form", self.form, formdata={"q": "é"}, cb_kwargs={"origin": origin}
        )
        yield response.follow(
            "/x/status?code=404", self.page, errback=self.lost, cb_kwargs={"mark": None, "origin": origin}
        )
        yield Request(f"{origin}/x/ok?lambda", lambda late: None)

    def page(self, response, mark, origin):
        assert response.meta["section"] == Section(name="é", tags={mark.number, b"\xff"})
        yield {"case": "page", "origin": origin, "number": mark.number}

    def form(self, response, origin):
        yield {"case": "form", "origin": origin, "sent": response.text.rpartition("\r\n")[2]}

    def lost(self, failure):
        yield {"case": "lost", "origin": failure.request.cb_kwargs["origin"]}
