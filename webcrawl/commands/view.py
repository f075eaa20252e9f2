"""``scrapy view``: show the page that ``fetch`` gets in a browser; it changes no crawl."""

from __future__ import annotations

import argparse

from scrapy.commands import view
from scrapy.http import Response

from webcrawl.commands import fetch


class Command(fetch.Command):
    name = "view"

    def short_desc(self) -> str:
        return "Open a URL in the browser as the crawl sees it"

    def long_desc(self) -> str:
        return "Fetch a URL with the crawl's headers and verdicts and show its content in a browser"

    def _print_response(self, response: Response, opts: argparse.Namespace) -> None:
        view.Command._print_response(self, response, opts)  # type: ignore[arg-type]
