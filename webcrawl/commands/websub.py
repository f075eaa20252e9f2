"""``scrapy websub``: list the subscriptions of a crawl at hubs, without their secrets.

Exit status 0: done. 2: the command or a setting is wrong, or the crawl cannot be read; a line on standard error says
why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand
from webcrawl.errors import Problem
from webcrawl.terminal import crawl_as_json, instead, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


class Command(ProjectCommand):
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "List the subscriptions of a crawl to change notifications (WebSub)"

    def long_desc(self) -> str:
        return (
            "Lists the subscriptions of a crawl: the page or feed, its hub, the end of the lease and the number of "
            "pushes. -s REDIS_URL=... or -s JOBDIR=DIR selects the crawl, running or not."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        return (Problem(word, f"is not expected; websub takes options only{instead(word)}") for word in args)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.control.selection import require_crawl
        from webcrawl.features.websub.command import as_object, as_text, listed
        from webcrawl.features.websub.store import SubscriptionStore

        assert self.settings is not None
        crawl = require_crawl(self.settings, opts.spider)
        subscriptions = crawl.read_store(SubscriptionStore, listed)
        if opts.json:
            tell(
                crawl_as_json(
                    crawl, subscriptions=[as_object(subscription) for subscription in subscriptions]
                )
            )
        else:
            tell("\n".join(as_text(crawl.name, subscriptions)))
