"""``scrapy shell``: Scrapy's shell with the crawl's headers and verdicts; it changes no crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import shell

from webcrawl.commands import page_commands
from webcrawl.crawl.arguments import own_names
from webcrawl.terminal import until_reader_leaves

if TYPE_CHECKING:
    import argparse


class Command(shell.Command):
    requires_project = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        page_commands.add_options(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        known = own_names(opts, self.settings).union(self.settings)
        super().process_options(args, opts)
        page_commands.detach("shell", self.settings, opts, known, args)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        with until_reader_leaves(self):
            super().run(args, opts)
