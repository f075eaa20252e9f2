"""Requests with priorities, and callbacks that fail."""

from __future__ import annotations

from scrapy import Request, Spider


class Ordered(Spider):
    """-a origin=... ; asks for ``/x/ok?N`` with the priority N, N from 0 to ``count`` (9)."""

    name = "ordered"
    count = "9"
    failing = ""
    """Numbers whose callback raises, with commas between."""

    async def start(self):
        yield Request(f"{self.origin}/x/ok?start", self.first)

    def first(self, response):
        for number in range(int(self.count)):
            yield Request(
                f"{self.origin}/x/ok?{number}",
                self.one,
                errback=self.lost,
                priority=number,
                cb_kwargs={"number": number, "mark": ("kept", number)},
                meta={"number": {"is": number}},
                headers={"X-Number": str(number)},
            )

    def one(self, response, number, mark):
        if str(number) in self.failing.split(","):
            raise RuntimeError(f"the callback of number {number} fails")
        sent = response.request.headers["X-Number"].decode()
        yield {"number": number, "mark": list(mark), "meta": response.meta["number"]["is"], "sent": sent}

    def lost(self, failure):
        yield {"lost": failure.request.url}
