"""``scrapy notify``: send a test message to the receivers of notifications.

Exit status 0: all have taken it. 1: one has not. 2: a setting is wrong, or names no receiver.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand
from webcrawl.errors import CrawlError
from webcrawl.terminal import tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.errors import Problem

_TEXT = "sends a test message: notifications of crawls arrive here"


class Command(ProjectCommand):
    def syntax(self) -> str:
        return "[TEXT] [options]"

    def short_desc(self) -> str:
        return "Send a test message to the receivers of notifications"

    def long_desc(self) -> str:
        return (
            "Send a test message to each URL of NOTIFY_WEBHOOKS and to the addresses of NOTIFY_MAIL_TO, and say who "
            "has taken it. A crawl with the same settings tells them of its end, of a stall, of many errors and of a "
            "disk that is nearly full. TEXT replaces the text of the message."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._text = " ".join(args) or _TEXT
        yield from ()

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.features.notifications.command import deliver, trial
        from webcrawl.features.notifications.feature import receivers

        assert self.settings is not None
        configuration = self.configuration
        if not configuration.notifies:
            raise CrawlError("nobody to notify: set NOTIFY_WEBHOOKS or NOTIFY_MAIL_TO")
        message = trial(self._text, configuration.worker_name)
        outcomes = asyncio.run(deliver(message, receivers(configuration, self.settings)))
        for name, failure in outcomes:
            tell(f"{name}: delivered" if failure is None else f"{name}: not delivered: {failure}")
        return int(any(failure is not None for _, failure in outcomes))
