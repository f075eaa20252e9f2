"""``scrapy retry [JOBDIR|REDIS_URL]``: fetch URLs of a crawl again whose fetch failed.

Exit status 0: done, or no URL is chosen. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a
setting is wrong, or there is no such crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.command import WaitingCommand, obeyed

if TYPE_CHECKING:
    import argparse

    from webcrawl.control.operating import Tell


class Command(WaitingCommand):
    def short_desc(self) -> str:
        return "Fetch URLs again whose fetch failed"

    def long_desc(self) -> str:
        return (
            "Queue URLs again that failed for good: requests without a response after all attempts, answers of "
            "status 429 or 5xx, and what sites refused. --host and --error choose some of them. One that is fetched "
            "now is done, and no longer counts as failed. A crawl that does not run does it in its next run. At most "
            "100,000 are kept."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--host", metavar="HOST", default="", help="only URLs of this host and its subdomains")
        add("--error", metavar="WORD", default="", help="only this error, such as timeout or 503")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        crawl = self.crawl(opts)
        steering = Steering(crawl, self.settings, opts.spider)

        def act(say: Tell) -> None:
            steering.retry(opts.host, opts.error, say, seconds=None if opts.wait else 0.0)

        return obeyed(crawl, self.name, act, wait=opts.wait, as_json=opts.json)
