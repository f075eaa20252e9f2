"""``scrapy resume [JOBDIR|REDIS_URL]``: a paused crawl goes on.

Exit status 0: done. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a setting is wrong, or
there is no such crawl.
"""

from __future__ import annotations

from webcrawl.command import OperatorCommand


class Command(OperatorCommand):
    def short_desc(self) -> str:
        return "Let a paused crawl go on"

    def long_desc(self) -> str:
        return (
            "Let a paused crawl go on, in all its processes. A crawl that was stopped is resumed by the command that "
            "began it."
        )
