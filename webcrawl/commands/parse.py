"""``scrapy parse``: show the result of a spider for one page, by default of the broad one; it changes no crawl."""

from __future__ import annotations

import warnings
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from scrapy.commands import parse
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.spiderloader import get_spider_loader

from webcrawl.commands import page_commands
from webcrawl.crawl.arguments import BROAD, own_names
from webcrawl.terminal import until_reader_leaves

if TYPE_CHECKING:
    import argparse


class Command(parse.Command):
    requires_project = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        page_commands.add_options(parser)

    def add_items(self, lvl: int, new_items: list[Any]) -> None:
        super().add_items(lvl, [plain(item) for item in new_items])

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        known = own_names(opts, self.settings).union(self.settings)
        super().process_options(args, opts)
        if not opts.spider and BROAD in get_spider_loader(self.settings).list():
            opts.spider = BROAD
        # Scrapy's command itself makes a Deferred of an asynchronous callback, and warns about it.
        warnings.filterwarnings("ignore", ".* returned a Deferred", ScrapyDeprecationWarning)
        page_commands.detach("parse", self.settings, opts, known, args)
        page_commands.take_url(parse, "parse", self.settings, args)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        with until_reader_leaves(self):
            super().run(args, opts)


def plain(value: Any) -> Any:
    """Return a page as dicts and lists; itemadapter, which prints items, cannot copy the named tuples in it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value
