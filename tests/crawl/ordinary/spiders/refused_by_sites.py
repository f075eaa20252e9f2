"""Requests for pages by which a site refuses."""

from __future__ import annotations

from scrapy import Request, Spider


class RefusedBySites(Spider):
    """-a origin=... -a hows=NAME[,NAME...] ; tells where each response arrives."""

    name = "refused-by-sites"

    async def start(self):
        for how in self.hows.split(","):
            request = Request(f"{self.origin}/x/refuses?how={how}", self.parse, errback=self.failed)
            yield request.replace(meta={"handle_httpstatus_list": [402]}, cb_kwargs={"how": how})

    def parse(self, response, how):
        yield {"how": how, "arrived": "callback", "status": response.status}

    def failed(self, failure):
        how = failure.request.cb_kwargs["how"]
        kind = getattr(failure.value, "kind", None)
        yield {"how": how, "arrived": type(failure.value).__name__, "kind": kind}
