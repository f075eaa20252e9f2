"""A Request of every kind, each telling by an item what became of it."""

from __future__ import annotations

from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest

from webcrawl.items import Page
from webcrawl.parsing.links import Link


class Kinds(Spider):
    """-a origin=SCHEME://HOST:PORT of a fake web."""

    name = "kinds"

    async def start(self):
        yield Request(
            f"{self.origin}/x/ok?start",
            callback=self.first,
            meta={"kept": {"pair": (1, b"\xff"), "set": {3}}},
            cb_kwargs={"word": "é"},
        )

    def first(self, response, word):
        kept = response.meta["kept"]
        yield {"case": "start", "word": word, "kept": kept == {"pair": (1, b"\xff"), "set": {3}}}
        yield {"case": "dropped", "drop": True}
        yield response.follow(
            "/x/echo?headers",
            self.echoed,
            headers={"X-Own": ["one", "two"], "User-Agent": "mine/1"},
            cb_kwargs={"case": "headers"},
        )
        posted = {"method": "POST", "body": b"a=1\x00\xff", "cb_kwargs": {"case": "post"}}
        yield Request(f"{self.origin}/x/echo?post", self.echoed, **posted)
        yield Request(f"{self.origin}/x/echo?post", self.echoed, cb_kwargs={"case": "get"})
        yield FormRequest(
            f"{self.origin}/x/echo?form", self.echoed, formdata={"q": "é"}, cb_kwargs={"case": "form"}
        )
        yield JsonRequest(f"{self.origin}/x/echo?json", self.echoed, data=[1], cb_kwargs={"case": "json"})
        for again in (False, False, True):
            yield Request(f"{self.origin}/x/ok?again", self.told, dont_filter=again)
        yield response.follow("/x/ok?copied", self.told, meta=response.meta)
        yield from self.failing(response)
        yield from self.redirected(response)
        yield Request("data:text/plain,hello", self.data)
        yield Request(f"{self.origin}/x/ok?lambda", lambda late: iter([{"case": "lambda", "url": late.url}]))
        links = [Link(f"{self.origin}/x/ok?page{number}", "a", "", "") for number in range(3)]
        links.append(Link(f"{self.origin}{self.chain('link', 4)}", "a", "", ""))
        yield Page(url=response.url, status=response.status, title="of an item", links=links)

    def failing(self, response):
        for path in ("/x/status?code=404", "/x/reset", "/x/silent"):
            yield response.follow(
                path, self.told, errback=self.failed, cb_kwargs={"mark": path}, meta={"download_timeout": 1}
            )
        yield response.follow("/x/status?code=410", self.told, meta={"handle_httpstatus_list": [410]})

    def redirected(self, response):
        for meta in ({}, {"dont_redirect": True, "handle_httpstatus_list": [302]}):
            moved = f"/x/redirect-chain?hops=1&goal={self.origin}/x/ok?moved&kept={len(meta)}"
            yield response.follow(moved, self.told, meta=meta)
        yield response.follow(
            self.chain("own", 21), self.told, errback=self.failed, cb_kwargs={"mark": "chain"}
        )

    def chain(self, name, hops):
        return f"/x/redirect-chain?hops={hops}&goal={self.origin}/x/ok?behind-{name}"

    def parse(self, response):
        yield {"case": "parse", "url": response.url, "depth": response.meta["depth"]}

    def echoed(self, response, case):
        yield {"case": case, "sent": response.body.decode("latin-1")}

    def told(self, response, mark=None):
        yield {
            "case": "told",
            "url": response.url,
            "status": response.status,
            "mark": mark,
            "from": response.meta.get("redirect_urls", []),
            "kept": "kept" in response.meta,
        }

    def failed(self, failure):
        yield {
            "case": "failed",
            "why": failure.type.__name__,
            "mark": failure.request.cb_kwargs["mark"],
            "url": failure.request.url,
        }

    def data(self, response):
        yield {"case": "data", "text": response.text}
