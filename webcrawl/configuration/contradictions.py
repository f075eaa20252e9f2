"""Settings that are right alone and wrong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from webcrawl import contact
from webcrawl.errors import Problem

LEAST_BUDGET = 16 << 20
"""With less, what is on its way to the server at a moment would matter."""

_ORDERED = (
    ("POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"),
    ("HEALTH_PARK_SECONDS", "HEALTH_PARK_MAX_SECONDS"),
    ("REVISIT_INTERVAL_MIN_SECONDS", "REVISIT_INTERVAL_MAX_SECONDS"),
    ("DOWNLOAD_MAXSIZE", "DOWNLOAD_ANNOUNCED_MAXSIZE"),
)

Read = Mapping[str, Callable[[], Any]]
"""What gives the value of each setting that is right alone, by its name."""


def likely_backend(redis_url: object) -> str:
    """Whoever names a Redis and no backend means that one."""
    return "redis" if redis_url else "sqlite"


def contradictions(read: Read) -> Iterator[Problem]:
    """What is wrong with settings together; those that are wrong alone are left out."""
    for less, more in _ORDERED:
        if less in read and more in read:
            least, most = read[less](), read[more]()
            if least > most and not (more == "DOWNLOAD_ANNOUNCED_MAXSIZE" and most == 0):
                yield Problem(less, f"must be at most {more}, which is {most:g}, not {least:g}")
    if read.keys() >= {"FRONTIER_BACKEND", "FRONTIER_SEEN", "REDIS_URL"}:
        backend = read["FRONTIER_BACKEND"]() or likely_backend(read["REDIS_URL"]())
        hours = read.get("CHECKPOINT_INTERVAL", float)()
        if hours and backend != "sqlite":
            how = "; Redis is copied as any Redis is" if backend == "redis" else ""
            yield Problem("CHECKPOINT_INTERVAL", f"needs FRONTIER_BACKEND=sqlite, not {backend}{how}")
        if backend == "redis" and read["FRONTIER_SEEN"]() != "exact":
            yield Problem("FRONTIER_SEEN", "must be exact with FRONTIER_BACKEND=redis, not 'bloom'")
    if "REDIS_BUDGET_BYTES" in read and 0 < (budget := read["REDIS_BUDGET_BYTES"]()) < LEAST_BUDGET:
        yield Problem("REDIS_BUDGET_BYTES", f"must be 0 or at least {LEAST_BUDGET}, not {budget}")
    if "CRAWLER_CONTACT" in read and (told := read["CRAWLER_CONTACT"]()) and not contact.is_contact(told):
        allowed = "a web or e-mail address, such as https://your.site/crawl"
        yield Problem("CRAWLER_CONTACT", f"must be {allowed}, not {told!r}")
