"""What ``shell``, ``fetch`` and ``parse`` have in common: they look at one page and leave every crawl alone.

They go out with the crawl's own headers and download handler, but past the frontier: the scheduler is
Scrapy's, in memory, and nothing is kept. What the frontier would have said, the VerdictMiddleware says on
standard error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler

from webcrawl.configuration import Configuration, check
from webcrawl.essentials import Detached
from webcrawl.logs import hush_inventory, log_level

if TYPE_CHECKING:
    import argparse

    from scrapy.http import Request
    from scrapy.settings import Settings

FORCE = "VERDICT_FORCED"
"""A setting that these commands make: whether what is refused is fetched all the same."""

_WITHOUT_A_CRAWL: dict[str, Any] = {
    "SCHEDULER": "webcrawl.commands.looking.PlainScheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "FRONTIER_BACKEND": "memory",
    "JOBDIR": None,
    "WARC_ENABLED": False,
    "PROGRESS_DISPLAY": "off",
    "STATISTICS_INTERVAL_SECONDS": 0,
    "PROGRESS_LOG_SECONDS": 0,
    "CHECKPOINT_INTERVAL": 0,
}
_MIDDLEWARES = {
    # Before everything else that looks at a request, and in place of the one that lets only leases pass.
    "webcrawl.commands.verdict.VerdictMiddleware": 50,
    "webcrawl.downloadermiddlewares.scope.ScopeMiddleware": None,
}


class PlainScheduler(Scheduler, Detached):
    """Scrapy's scheduler, in memory: there is no frontier behind it, and so no lease behind a request."""

    def flight_of(self, request: Request) -> None:
        """What the middlewares ask for the lease of a request: there is none."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The option that these commands have beside Scrapy's."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="fetch also what scope or robots.txt refuse; it is you who asks then, not the crawler",
    )


def detach(command: str, settings: Settings, opts: argparse.Namespace, known: frozenset[str]) -> None:
    """Make settings that touch no crawl's state, whatever else was given; exits with 2 when some are
    wrong.
    """
    problems = check(settings, [item.partition("=")[0] for item in opts.set], known)
    if problems:
        sys.stderr.write("".join(f"scrapy {command}: {problem}\n" for problem in problems))
        sys.exit(2)
    settings.setdict(_WITHOUT_A_CRAWL, priority="cmdline")
    settings.set("USER_AGENT", Configuration.from_settings(settings).user_agent, priority="cmdline")
    settings.set(FORCE, opts.force, priority="cmdline")
    settings["DOWNLOADER_MIDDLEWARES_BASE"].update(_MIDDLEWARES, priority="cmdline")
    hush_inventory(log_level(settings))
