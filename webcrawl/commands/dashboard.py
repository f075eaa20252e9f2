"""``scrapy dashboard [JOBDIR|REDIS_URL]``: serve a web page and a JSON API on a crawl, running or not, until Ctrl-C.

Exit status 0: Ctrl-C or SIGTERM ended it. 2: an argument or a setting is wrong, there is no such crawl, or the port
is in use; a line on standard error says why.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.conf import arglist_to_dict

from webcrawl.command import ProjectCommand, number
from webcrawl.control.selection import apply_spider_settings
from webcrawl.errors import Problem
from webcrawl.terminal import complain, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.web.dashboard.source import CrawlSource

PORT = 8765


class Command(ProjectCommand):
    default_settings = {"LOG_LEVEL": "WARNING"}  # noqa: RUF012 - as Scrapy declares it
    spider_help = "spider of the crawl"

    def syntax(self) -> str:
        return "[JOBDIR | REDIS_URL] [options]"

    def short_desc(self) -> str:
        return "Show a crawl in the browser, and steer it there"

    def long_desc(self) -> str:
        return (
            "Serve a web page and a JSON API on a crawl until Ctrl-C. The crawl may be running or not. Without an "
            "argument, the crawl of the settings is served. Its rules and values are those with which it was "
            "started; a rule given by -s or -a is stronger."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--port",
            metavar="N",
            type=number(int, 0, 65_535, "a port number, 0 for any free port"),
            help=f"the port (default: DASHBOARD_PORT, or {PORT})",
        )
        add(
            "-a",
            dest="spargs",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="argument of the spider, as for scrapy crawl",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if len(args) > 1:
            yield Problem(args[1], "is one argument too many; give one JOBDIR or REDIS_URL")
        if args and "://" in args[0]:
            self.settings.set("REDIS_URL", args[0], priority="cmdline")
        elif args:
            if not Path(args[0]).is_dir():
                yield Problem(args[0], "is no folder")
            self.settings.set("JOBDIR", args[0], priority="cmdline")
        try:
            self._arguments = arglist_to_dict(opts.spargs)
        except ValueError:
            yield Problem("-a", "must be NAME=VALUE")
        self._spider = apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.web.dashboard.source import CrawlSource

        assert self.settings is not None
        port = self.configuration.dashboard_port or PORT if opts.port is None else opts.port
        domains = getattr(self._spider, "allowed_domains", None)
        source = CrawlSource(self.settings, opts.spider, self._arguments, domains)
        try:
            asyncio.run(_serve(source, port))
        except OSError as error:
            from webcrawl.web.dashboard.process import refusal

            return complain(
                self.name, [f"{refusal(source.configuration, port, error)}; --port N takes another port"]
            )
        return 0


async def _serve(source: CrawlSource, port: int) -> None:
    from webcrawl.web.dashboard.process import listen, with_token

    listening = await listen(source, port)
    over = asyncio.Event()
    for number_of in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number_of, over.set)
    address = with_token(listening.address, listening.token if sys.stdout.isatty() else None)
    tell(f"The dashboard of {source.crawl.name} is at {address} until Ctrl-C.")
    if listening.token_file is not None:
        tell(f"The token is in {listening.token_file}.")
    sys.stdout.flush()
    await over.wait()
    await listening.stop()
