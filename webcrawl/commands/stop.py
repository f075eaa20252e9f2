"""``scrapy stop [JOBDIR|REDIS_URL]``: a running crawl ends as with SIGTERM.

Exit status 0: done. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a setting is wrong, or
there is no such crawl.
"""

from __future__ import annotations

from webcrawl.command import OperatorCommand


class Command(OperatorCommand):
    def short_desc(self) -> str:
        return "Stop a running crawl as a signal does; it can be resumed"

    def long_desc(self) -> str:
        return (
            "End a running crawl, in all its processes: open requests are finished and stored. The command that "
            "began it resumes it."
        )
