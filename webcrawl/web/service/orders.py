"""The check of an order: spider, arguments and settings, with the sentences of ``scrapy crawl``.

Who may give orders is an operator, but not somebody with a shell on the machine. So an order cannot name what runs
code, reads or writes files, or connects to servers: it has the settings of a closed list (``open_settings.py``), and
``scrapy serve -s`` gives other ones, to all of its crawls.
"""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from webcrawl.config.service import is_of_service
from webcrawl.crawl.arguments import BROAD
from webcrawl.errors import Problem
from webcrawl.start import find_problems, spider_named, unreadable_settings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from scrapy.settings import Settings

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}").fullmatch
_WORD = re.compile(r"[a-z_][a-z0-9_]{0,63}", re.IGNORECASE).fullmatch
_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*").fullmatch
_SHORT = 4_000
_NAMES_MAX = 3
_SHOWN_MAX = 100


def order_problems(
    settings: Settings,
    spider: str,
    arguments: Mapping[str, str],
    given: Mapping[str, str],
    allowed: Collection[str],
) -> list[Problem]:
    """Return everything that is wrong with an order.

    ``settings``: those of all crawls of the service, with the JOBDIR of this one. ``arguments``: those of the spider,
    with ``seeds`` as the service gives them. ``given``: the settings of the order. ``allowed``: those that an order
    may have.
    """
    problems = [*_closed(given, allowed), *_arguments(spider, arguments)]
    found = spider_named([spider], settings)
    if isinstance(found, Problem):
        return [*problems, found]
    refused = {problem.name for problem in problems}
    words = [f"{name}={value}" for name, value in given.items() if name in allowed and name not in refused]
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


def _closed(given: Mapping[str, str], allowed: Collection[str]) -> Iterator[Problem]:
    for name, value in given.items():
        if not _NAME(name):
            yield Problem(repr(name[:_SHOWN_MAX]), "is no name of a setting")
        elif is_of_service(name):
            yield Problem(name, "is for the service to set, not for a single crawl")
        elif name not in allowed:
            yield Problem(name, _refusal(name, allowed))
        elif len(value) > _SHORT or "\0" in value:
            yield Problem(name, f"must be a text of at most {_SHORT} characters")


def _refusal(name: str, allowed: Collection[str]) -> str:
    near = get_close_matches(name, sorted(allowed), _NAMES_MAX, 0.85)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return (
        "is not among the settings that an order may have: scrapy serve -s gives it to all crawls, "
        f"SERVICE_ORDER_SETTINGS opens it{hint}"
    )


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
