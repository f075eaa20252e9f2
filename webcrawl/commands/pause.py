"""``scrapy pause [JOBDIR|REDIS_URL]``: a crawl begins no new requests until ``scrapy resume``.

Exit status 0: done. 1: the crawl has not obeyed, with a line on the reason. 2: an argument or a setting is wrong, or
there is no such crawl.
"""

from __future__ import annotations

from webcrawl.command import OperatorCommand


class Command(OperatorCommand):
    def short_desc(self) -> str:
        return "Pause a running crawl: open requests are finished, none begins"

    def long_desc(self) -> str:
        return (
            "Pause a crawl, in all its processes: open requests are finished, and none begins until scrapy resume. "
            "The processes stay. A pause outlasts a restart: a process that is started fetches nothing until then."
        )
