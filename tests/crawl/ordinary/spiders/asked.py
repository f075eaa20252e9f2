"""Requests for everything that is not a page."""

from __future__ import annotations

import os
import signal

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


class Errbacks(Spider):
    """-a origin=... -a dead=ORIGIN[,ORIGIN...] ; tells which of its Requests end in an errback, and with what."""

    name = "errbacks"
    dead = ""
    allowed_domains = ["localhost", "127.0.0.1", "nowhere.invalid"]  # noqa: RUF012 - Scrapy's convention
    custom_settings = {"DEPTH_LIMIT": 2, "URLLENGTH_LIMIT": 500}  # noqa: RUF012 - Scrapy's convention

    async def start(self):
        yield Request(f"{self.origin}/x/ok?start", self.first, errback=self.failed)
        yield Request(f"{self.origin}/private/start", self.first, errback=self.failed)
        for origin in filter(None, self.dead.split(",")):
            yield Request(f"{origin}/x/ok?dead", self.told, errback=self.failed, cb_kwargs={"n": 1})

    def first(self, response):
        heard = {"callback": self.told, "errback": self.failed, "cb_kwargs": {"n": 2}}
        yield response.follow("/private/page", **heard)
        yield response.follow("/private/unheard", self.told, cb_kwargs={"n": 2})
        yield response.follow("http://elsewhere.test/", **heard)
        yield response.follow("/x/ok?" + "long" * 200, **heard)
        for _ in range(2):
            yield response.follow("/x/status?code=404", **heard)
        yield response.follow("/x/ok?deeper", **heard)

    def told(self, response, n):
        yield {"told": response.url, "n": n}
        yield response.follow(f"/x/ok?deep{n}", self.told, errback=self.failed, cb_kwargs={"n": n + 1})

    def failed(self, failure):
        words = failure.request.cb_kwargs
        # The subclass of it that this crawler raises.
        why = "IgnoreRequest" if failure.type.__name__ == "Refused" else failure.type.__name__
        yield {"failed": failure.request.url, "why": why, "words": words}
        if "/private/" in failure.request.url:
            yield Request(f"{self.origin}/x/ok?after{len(words)}", self.told, cb_kwargs={"n": 1})


class Refusals(Spider):
    """-a origin=... ; Requests that only this crawler refuses: when they are given, and when their turn comes."""

    name = "refusals"

    async def start(self):
        yield Request(f"{self.origin}/x/ok?start", self.first)

    def first(self, response):
        for url in ("http://127.0.0.1:25/", f"{self.origin}/x/ok/denied"):
            yield Request(url, errback=self.failed, meta={"at": "intake"})
        yield response.follow("/x/ok?late", errback=lambda failure: self.failed(failure), priority=-1)

    def parse(self, response):
        yield {"told": response.url}

    async def failed(self, failure):
        yield {"failed": failure.request.url, "rule": getattr(failure.value, "rule", None)}
        yield Request(f"{self.origin}/x/ok?after{len(failure.request.url)}")


class Proxied(Spider):
    """-a proxy=URL ; pages of a site that can be reached by the proxy alone, and one page by another proxy."""

    name = "proxied"

    async def start(self):
        for path in ("private", "one", "two"):
            yield Request(
                f"http://site.test/{path}",
                meta={"proxy": self.proxy},
                headers={"Proxy-Authorization": "Basic bWU6aXQ="},
                errback=self.failed,
            )

    def parse(self, response):
        yield {"told": response.url, "text": response.text}

    def failed(self, failure):
        yield {"failed": failure.request.url}


class Named(Spider):
    """-a origin=... ; tells the name with which its pages are requested."""

    name = "named"
    user_agent = "shopbot/2 (+https://shop.example/bot)"

    async def start(self):
        yield Request(f"{self.origin}/x/echo?named")
        yield Request(f"{self.origin}/x/echo?own", headers={"User-Agent": "own/1"})

    def parse(self, response):
        [name] = [line for line in response.text.splitlines() if line.startswith("User-Agent: ")]
        yield {"url": response.url, "name": name.partition(": ")[2]}


class Killed(Spider):
    """-a origin=... ; a process that is killed at its second page."""

    name = "killed"

    async def start(self):
        yield Request(f"{self.origin}/x/echo?first")

    def parse(self, response):
        if "second" in response.url:
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"url": response.url}
        yield response.follow("/x/echo?second")
