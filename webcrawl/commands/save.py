"""``scrapy save [JOBDIR|REDIS_URL]``: a running crawl stores what it has now, and takes a checkpoint.

Exit status 0: done. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a setting is wrong, or
there is no such crawl.
"""

from __future__ import annotations

from webcrawl.command import OperatorCommand


class Command(OperatorCommand):
    def short_desc(self) -> str:
        return "Store the state of a running crawl now, with a checkpoint"

    def long_desc(self) -> str:
        return (
            "Have a running crawl store all results that it has, and take a checkpoint, as CHECKPOINT_INTERVAL "
            "does. A crawl on Redis has no checkpoints: its workers store what they have."
        )
