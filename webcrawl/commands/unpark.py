"""``scrapy unpark HOST ...|all [JOBDIR|REDIS_URL]``: contact hosts of a crawl again that are parked or given up.

Exit status 0: done, or nothing to do. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a
setting is wrong, a host is unknown, or there is no such crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.command import WaitingCommand, obeyed, words_and_place
from webcrawl.errors import Problem

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.control.operating import Tell


class Command(WaitingCommand):
    def syntax(self) -> str:
        return "[options] <HOST> ... | all [JOBDIR | REDIS_URL]"

    def short_desc(self) -> str:
        return "Contact hosts again that are parked or given up"

    def long_desc(self) -> str:
        return (
            "End the rest of hosts that are parked or given up, since they failed or their robots.txt cannot be had: "
            "each is contacted again after its delay, and may fail as often as a new one. A pause whose length "
            "a host has named (Retry-After) is kept. all chooses every such host, at most 1,000 of them."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._hosts, place = words_and_place(args)
        if not self._hosts:
            yield Problem("", "no host; give one or several, or all")
        yield from super().wrong_words(place, opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        crawl = self.crawl(opts)
        steering = Steering(crawl, self.settings, opts.spider)

        def act(say: Tell) -> None:
            steering.unpark(self._hosts, say, seconds=None if opts.wait else 0.0)

        return obeyed(crawl, self.name, act, wait=opts.wait, as_json=opts.json)
