"""The common part of ``shell``, ``fetch`` and ``parse``: they fetch one page and change no crawl.

They use the crawl's own headers and download handler, but not its frontier; ``crawl/verdicts.py`` has what prints the
decision of scope and robots.txt on each URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spiderloader import get_spider_loader

from webcrawl import addon
from webcrawl.config import Configuration, check
from webcrawl.config.vocabulary import hint
from webcrawl.errors import ConfigurationError, Problem
from webcrawl.storage import TRANSIENT
from webcrawl.terminal import refuse, strange_words
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType

    from scrapy.settings import Settings


_WITHOUT_A_CRAWL: dict[str, Any] = {
    "SCHEDULER": "webcrawl.crawl.verdicts.PlainScheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "FRONTIER_BACKEND": TRANSIENT,
    "JOBDIR": None,
    "WARC_ENABLED": False,
    "PROGRESS_DISPLAY": "off",
    "STATISTICS_INTERVAL_SECONDS": 0,
    "PROGRESS_LOG_SECONDS": 0,
    "CHECKPOINT_INTERVAL": 0,
}
_MIDDLEWARES = {
    # Before all other components that handle a request, and in place of the one that passes only requests with a
    # lease.
    "webcrawl.crawl.verdicts.VerdictMiddleware": 50,
    "webcrawl.downloadermiddlewares.scope.ScopeMiddleware": None,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that these commands have in addition to Scrapy's."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="also fetch URLs that scope or robots.txt refuses, on your own responsibility",
    )


def _handler_problems(settings: Settings) -> Sequence[Problem]:
    # Scrapy imports all commands at each start.
    from webcrawl.crawl.schemes import supported_schemes

    try:
        supported_schemes(settings)
    except ConfigurationError as error:
        return error.problems
    return ()


def take_url(module: ModuleType, command: str, settings: Settings, args: Sequence[str]) -> None:
    """Let one of Scrapy's commands take a URL of any scheme of the crawl: its own check knows http and file, and does
    not say what is wrong. Exit with 2 when there is no such URL, or more than one; a shell needs none.
    """
    # Scrapy imports all commands at each start.
    from webcrawl.crawl.schemes import supported_schemes

    names = {"file", *supported_schemes(settings).names}

    def is_url(text: str) -> bool:
        return text.partition("://")[0] in names

    vars(module)["is_url"] = is_url
    if not args and command != "shell":
        refuse(command, [Problem("", "no URL; give one")])
    if len(args) > 1:
        refuse(command, [Problem(args[1], f"is one argument too many after {args[0]}; give one URL")])
    if args and not is_url(args[0]):
        schemes = ", ".join(f"{name}://" for name in sorted(names))
        better = f"must begin with one of {schemes}" if "://" in args[0] else f"write http://{args[0]}"
        refuse(command, [Problem(args[0], f"is no URL; {better}")])


def _unknown_spider(settings: Settings, name: str | None) -> Problem | None:
    """Return the problem with the name of a spider that the project does not have."""
    if not name or name in (known := get_spider_loader(settings).list()):
        return None
    return Problem("--spider", f"{printable(name)} is no spider of this project; {hint(name, sorted(known))}")


def detach(
    command: str, settings: Settings, opts: argparse.Namespace, known: frozenset[str], args: Sequence[str]
) -> None:
    """Make settings that touch no crawl's state, whatever else was given; exit with 2 when something is wrong."""
    # Scrapy imports all commands at each start.
    from webcrawl.crawl.verdicts import FORCE
    from webcrawl.logs import hush_inventory, log_level

    addon.complete_if_used(settings)
    if spider := _unknown_spider(settings, getattr(opts, "spider", None)):
        refuse(command, [spider])
    problems = check(settings, [item.partition("=")[0] for item in opts.set], known)
    if problems := [*strange_words(command, args), *(problems or _handler_problems(settings))]:
        refuse(command, problems)
    settings.setdict(_WITHOUT_A_CRAWL, priority="cmdline")
    settings.set("USER_AGENT", Configuration.from_settings(settings).user_agent, priority="cmdline")
    settings.set(FORCE, opts.force, priority="cmdline")
    settings["DOWNLOADER_MIDDLEWARES_BASE"].update(_MIDDLEWARES, priority="cmdline")
    hush_inventory(log_level(settings))
