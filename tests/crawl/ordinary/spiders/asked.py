"""Requests for everything that is not a page."""

from __future__ import annotations

from scrapy import Request, Spider

KINDS = ("application/json", "application/pdf", "image/png", "application/octet-stream")


class Bodies(Spider):
    """-a origin=... ; asks for a body of each type, also under the name of a file and by a redirect."""

    name = "bodies"

    async def start(self):
        yield Request(f"{self.origin}/x/mime/start.json?type=application/json")

    def parse(self, response):
        yield {"url": response.url, "bytes": len(response.body), "flags": response.flags}
        if "start" in response.url:
            for kind in KINDS:
                yield response.follow(f"/x/mime/report.pdf?type={kind}", self.parse, meta={"kind": kind})
            yield response.follow("/x/mime/plain.jpg?type=image/jpeg")
            goal = response.urljoin("/x/mime/moved.zip?type=application/zip")
            yield response.follow(f"/x/redirect-chain?hops=1&goal={goal}")
