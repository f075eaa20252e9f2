"""``scrapy serve [FOLDER]``: run several crawls one beside another, on orders by a web page and a JSON API.

Exit status 0: Ctrl-C or SIGTERM ended it, and all crawls have stopped. 2: an argument or a setting is wrong, the
folder cannot be used or has a service already, or the port is in use; a line on standard error says why.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand, number
from webcrawl.errors import CrawlError, Problem
from webcrawl.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = 8766
_OWN = ("DASHBOARD_", "SERVICE_")
"""Beginnings of the names of settings that are not passed to the crawls."""


class Command(ProjectCommand):
    default_settings = {"LOG_LEVEL": "INFO"}  # noqa: RUF012 - as Scrapy declares it

    def syntax(self) -> str:
        return "[FOLDER] [options]"

    def short_desc(self) -> str:
        return "Run several crawls, on orders by web page and API"

    def long_desc(self) -> str:
        return (
            "Run the crawls in FOLDER (crawls/ without it), each as a process, until Ctrl-C or SIGTERM. A web page "
            "and a JSON API take orders: new crawls with their seeds and settings, start, stop, remove; each crawl "
            "has its dashboard. When the service begins again, crawls that were running go on. -s NAME=VALUE gives "
            "a setting to all crawls."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--port",
            metavar="N",
            type=number(int, 0, 65_535, "a port number, 0 for any free port"),
            help=f"the port (default: DASHBOARD_PORT, or {PORT})",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.jobdir import CRAWLS

        assert self.settings is not None
        self._root = Path(args[0]) if args else CRAWLS
        if len(args) > 1:
            yield Problem(args[1], "is one argument too many; give one folder of crawls")
        if self._root.exists() and not self._root.is_dir():
            yield Problem(str(self._root), "is no folder")
        if "JOBDIR" in self._given:
            yield Problem(
                "JOBDIR", "is the folder of one crawl; give the folder of all crawls: scrapy serve FOLDER"
            )
        if self.configuration_is_public():
            yield Problem(
                "DASHBOARD_PUBLIC", "is for scrapy dashboard: a service takes orders of operators only"
            )

    def configuration_is_public(self) -> bool:
        """Return whether the settings ask for public mode; a wrong value is another problem."""
        assert self.settings is not None
        return str(self.settings.get("DASHBOARD_PUBLIC")).lower() in ("true", "1")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from scrapy.utils.log import configure_logging

        from webcrawl.web.service.command import serve

        assert self.settings is not None
        configuration = self.configuration
        storage = configuration.storage
        if storage.is_shared or not storage.is_lasting:
            raise CrawlError(
                f"FRONTIER_BACKEND: the crawls of a service keep their state in their folders, not in {storage.name}"
            )
        configure_logging(self.settings)
        pairs = (item.partition("=") for item in opts.set)
        crawl_settings = {name: value for name, _, value in pairs if not name.startswith(_OWN)}
        port = configuration.dashboard_port or PORT if opts.port is None else opts.port
        settings = self.settings.copy()
        asyncio.run(serve(self._root.absolute(), port, settings, crawl_settings, configuration, _tell))


def _tell(sentence: str) -> None:
    tell(sentence)
    sys.stdout.flush()
