"""Spiders with contracts, as Scrapy documents them; the host is that of the environment variable CHECKED."""

import os

from scrapy import Spider

ORIGIN = os.environ.get("CHECKED", "http://localhost:1")


class Contracted(Spider):
    """All of its contracts hold."""

    name = "contracted"

    def parse(self, response):
        """Give an item.

        @returns items 1 1
        """
        yield {"url": response.url}

    async def parse_later(self, response):
        """The same, as a coroutine.

        @returns items 1 1
        """
        return [{"url": response.url}]


class Unfulfilled(Spider):
    """One of its contracts does not hold, one has a page that does not exist, one has no page."""

    name = "unfulfilled"

    def parse(self, response):
        """Give nothing.

        @returns items 1 1
        """

    def parse_gone(self, response):
        """A page that is not there.

        @returns items 0 0
        """

    def parse_nothing(self, response):
        """Without a page.

        @returns items 0 0
        """


class Forbidden(Spider):
    """Its page may not be fetched."""

    name = "forbidden"

    def parse(self, response):
        """Robots.

        @returns items 0 0
        """


def _with_url(method, path):
    method.__doc__ = f"{method.__doc__}\n        @url {ORIGIN}{path}\n        "


_with_url(Contracted.parse, "/x/ok?a")
_with_url(Contracted.parse_later, "/x/ok?b")
_with_url(Unfulfilled.parse, "/x/ok?c")
_with_url(Unfulfilled.parse_gone, "/x/status?code=404")
_with_url(Forbidden.parse, "/private/page")
