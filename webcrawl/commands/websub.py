"""``scrapy websub``: list the subscriptions of a crawl at hubs, without their secrets.

Exit status 0: done. 2: the command or a setting is wrong, or the crawl cannot be read; a line on standard error says
why.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand
from webcrawl.commands.output import tell
from webcrawl.errors import Problem
from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from webcrawl.control.local import LocalCrawl
    from webcrawl.control.shared import SharedCrawl
    from webcrawl.features.websub.subscription import Subscription


class Command(ProjectCommand):
    spider_help = "whose crawl on Redis"
    json_help = "one JSON object"

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "List the subscriptions of a crawl at hubs that tell of changes"

    def long_desc(self) -> str:
        return (
            "Which pages and feeds a crawl is told of by which hubs, until when, and how many pushes came. Which "
            "crawl is meant say -s REDIS_URL=... or -s JOBDIR=DIR, running or not."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        return (Problem(word, "is not expected; websub takes options only") for word in args)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.control.asked import crawl_named

        assert self.settings is not None
        crawl = crawl_named(self.settings, opts.spider)
        found = sorted(crawl.subscriptions(), key=lambda one: (one.topic, one.since))
        tell(_as_json(crawl, found) if opts.json else "\n".join(_as_text(crawl, found)))


def _as_text(crawl: SharedCrawl | LocalCrawl, found: Sequence[Subscription]) -> Iterator[str]:
    active = sum(one.state == "active" for one in found)
    yield f"{crawl.name}: {text.things(len(found), 'subscription')}, {active} active"
    if found:
        yield ""
    for one in found:
        yield f"{one.state:<9} {printable(one.topic)}"
        yield f"          at {printable(one.hub)}{_how(one)}"


def _how(one: Subscription) -> str:
    if one.why:
        return f": {printable(one.why)}"
    told = (
        f" until {datetime.fromtimestamp(one.lease_ends_at):%Y-%m-%d %H:%M:%S}" if one.lease_ends_at else ""
    )
    if one.pushes or one.ignored:
        told += f"; {text.count(one.pushes)} {'push' if one.pushes == 1 else 'pushes'}"
    return told + (f", {text.count(one.ignored)} ignored" if one.ignored else "")


def _as_json(crawl: SharedCrawl | LocalCrawl, found: Sequence[Subscription]) -> str:
    told: dict[str, Any] = {
        "storage": crawl.storage,
        "place": crawl.place,
        "subscriptions": [_as_object(one) for one in found],
    }
    return json.dumps(told)


def _as_object(one: Subscription) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "hub": one.hub,
        "state": str(one.state),
        "since": one.since,
        "signed": one.signed,
        "lease_ends_at": one.lease_ends_at or None,
        "tries": one.tries,
        "pushes": one.pushes,
        "ignored": one.ignored,
        "why": one.why or None,
    }
