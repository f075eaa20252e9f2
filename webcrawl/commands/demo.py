"""``scrapy demo``: serve a small library on loopback, to try spiders on.

Exit status 0: Ctrl-C or SIGTERM ended it. 2: the port is in use, or an argument is wrong.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand, number
from webcrawl.errors import Problem
from webcrawl.terminal import complain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

PORT = 8000


class Command(ProjectCommand):
    requires_project = False

    def syntax(self) -> str:
        return "[--port N]"

    def short_desc(self) -> str:
        return "Serve a small library on loopback to try spiders on"

    def long_desc(self) -> str:
        return (
            "Serve a small library on this machine until Ctrl-C: a catalogue, 40 books, a JSON API, PDFs, a form to "
            "sign in, a sitemap and a robots.txt. It is the same at each start, and no other machine can reach it."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--port",
            metavar="N",
            type=number(int, 0, 65_535, "a port number, 0 for any free port"),
            default=PORT,
            help="the port (default: %(default)s)",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if args:
            yield Problem(args[0], "is one argument too many; demo takes options alone")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        from webcrawl.demo import BOOKS, serve

        try:
            server = serve(opts.port)
        except OSError as error:
            return complain(self.name, [f"--port: {opts.port}: {error.strerror or error}"])
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"A library of {BOOKS} books is served at http://localhost:{server.server_port}/ until Ctrl-C.")
        sys.stdout.flush()
        with server:
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                print()
        return 0
