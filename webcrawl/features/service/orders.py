"""The check of an order: spider, arguments and settings, with the sentences of ``scrapy crawl``.

Who may give orders is an operator, but not somebody with a shell on the machine. So an order cannot name what runs
code, reads or writes files, or connects to servers: ``scrapy serve -s`` gives such settings, to all of its crawls.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from webcrawl.command import BROAD
from webcrawl.commands.crawl import find_problems, spider_named, unreadable_settings
from webcrawl.config import SETTINGS
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

PLAIN = frozenset(
    (
        "choice",
        "choice_or_off",
        "domains",
        "extensions",
        "mime_patterns",
        "ports",
        "real",
        "some_of",
        "switch",
        "switch_or_none",
        "whole",
        "words",
    )
)
"""Readers of values that name nothing outside of the crawl."""
TEXTS = frozenset(("CRAWLER_CONTACT", "MAX_IDLE_TIME_BEFORE_CLOSE", "REVISIT_PAGES_PER_DAY", "USER_AGENT"))
"""Settings with other readers that are harmless, too."""
CLOSED = ("DASHBOARD_", "SERVICE_", "SETTINGS_PREFIXES", "SEEDS_PRIVATE_ADDRESSES")
"""Beginnings of names that belong to the service, whatever their readers."""
SCRAPYS = frozenset(
    (
        "AUTOTHROTTLE_ENABLED",
        "AUTOTHROTTLE_MAX_DELAY",
        "AUTOTHROTTLE_START_DELAY",
        "CLOSESPIDER_ERRORCOUNT",
        "CLOSESPIDER_ITEMCOUNT",
        "CLOSESPIDER_PAGECOUNT_NO_ITEM",
        "CLOSESPIDER_TIMEOUT_NO_ITEM",
        "COOKIES_ENABLED",
        "DEPTH_PRIORITY",
        "DEPTH_STATS_VERBOSE",
        "DOWNLOAD_DELAY",
        "DOWNLOAD_FAIL_ON_DATALOSS",
        "HTTPERROR_ALLOWED_CODES",
        "HTTPERROR_ALLOW_ALL",
        "LOG_LEVEL",
        "MEMUSAGE_ENABLED",
        "MEMUSAGE_LIMIT_MB",
        "MEMUSAGE_WARNING_MB",
        "REDIRECT_ENABLED",
        "REFERER_ENABLED",
        "RETRY_ENABLED",
        "RETRY_HTTP_CODES",
        "STATS_DUMP",
    )
)
"""Settings of Scrapy that an order may have."""
PRIVATE = "FETCH_PRIVATE_ADDRESSES"
"""The setting that an order may have if its seeds may name private hosts."""

_WORD = re.compile(r"[a-z_][a-z0-9_]{0,63}", re.IGNORECASE).fullmatch
_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*").fullmatch
_SHORT = 4_000
_OF_ALL = "cannot be given to a single crawl; scrapy serve -s gives it to all of its crawls"
_OF_SERVICE = "is for the service to set, not for a single crawl"


def is_open(name: str, *, private: bool = False) -> bool:
    """Return whether an order may have this setting. ``private``: its seeds may name private hosts."""
    if name.startswith(CLOSED):
        return False
    return name in _OPEN or (private and name == PRIVATE)


_OPEN = SCRAPYS | {
    item.name
    for item in SETTINGS
    if item.name in TEXTS or item.reader.read.__qualname__.partition(".")[0] in PLAIN
}
_KNOWN = {item.name for item in SETTINGS} | {name for name in dir(default_settings) if name.isupper()}


def order_problems(
    settings: Settings,
    spider: str,
    arguments: Mapping[str, str],
    given: Mapping[str, str],
    *,
    private: bool = False,
) -> list[Problem]:
    """Return everything that is wrong with an order.

    ``settings``: those of all crawls of the service, with the JOBDIR of this one. ``arguments``: those of the spider,
    with ``seeds`` as the service gives them. ``given``: the settings of the order.
    """
    problems = [*_closed(given, private=private), *_arguments(spider, arguments)]
    found = spider_named([spider], settings)
    if isinstance(found, Problem):
        return [*problems, found]
    told = {problem.name for problem in problems}
    words = [f"{name}={value}" for name, value in given.items() if name and name not in told]
    options = argparse.Namespace(set=words, spargs=dict(arguments))
    problems += unreadable_settings(options)
    known = set(settings)
    merged = settings.copy()
    for word in options.set:
        name, _, value = word.partition("=")
        merged.set(name, value, priority="cmdline")
    if any(problem.name.startswith("-a ") for problem in problems):
        return problems
    return [*problems, *find_problems(merged, found, options, known)]


def _closed(given: Mapping[str, str], *, private: bool) -> Iterator[Problem]:
    for name, value in given.items():
        if "=" in name or not name or len(name) > 100:
            yield Problem(repr(name[:100]), "is no name of a setting")
        elif name in _KNOWN and not is_open(name, private=private):
            yield Problem(name, _OF_SERVICE if name.startswith(("JOBDIR", *CLOSED)) else _OF_ALL)
        elif len(value) > _SHORT or "\0" in value:
            yield Problem(name, f"must be a text of at most {_SHORT} characters")


def _arguments(spider: str, arguments: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in arguments.items():
        if not _WORD(name):
            yield Problem(f"-a {name[:80]!r}", "is no name of an argument")
        elif len(value) > _SHORT or "\0" in value:
            yield Problem(f"-a {name}", f"must be a text of at most {_SHORT} characters")
    if spider != BROAD:
        return
    if arguments.get("segment"):
        yield Problem("-a segment", "is a file, which an order cannot name")
    if "/" in arguments.get("domains", ""):
        yield Problem("-a domains", "must be names of sites; an order cannot name a file")
    focus = arguments.get("focus", "").strip()
    if focus.startswith(("pages:", "model:")) or (_CODE(focus) and not focus.startswith(("re:", "mime:"))):
        yield Problem("-a focus", "must be keywords, re: or mime:; an order cannot name a file or a function")
