"""``scrapy fetch``: Scrapy's command with the crawl's headers and verdicts; it changes no crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy.commands import fetch

from webcrawl.commands import page_commands
from webcrawl.crawl.arguments import own_names
from webcrawl.terminal import until_reader_leaves

if TYPE_CHECKING:
    import argparse

    from scrapy.http import Response


class Command(fetch.Command):
    requires_project = True
    name = "fetch"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        page_commands.add_options(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        known = own_names(opts, self.settings).union(self.settings)
        super().process_options(args, opts)
        page_commands.detach(self.name, self.settings, opts, known, args)
        page_commands.take_url(fetch, self.name, self.settings, args)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.verdicts import refused

        dispatcher.connect(self._refused, signal=refused)
        super().run(args, opts)

    def _print_response(self, response: Response, opts: argparse.Namespace) -> None:
        with until_reader_leaves(self):
            super()._print_response(response, opts)

    def _refused(self, **_: Any) -> None:
        self.exitcode = 1
