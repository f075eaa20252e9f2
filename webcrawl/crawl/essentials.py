"""The parts without which a crawl would be impolite or lose what it fetches: all of them are in force, or it does not
start.

Scrapy lets a spider, the command line, an add-on and a settings module replace any part. Added parts do no harm, and
neither do replacements of parts that a crawl can do without; the parts named here hold the invariants.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from webcrawl.config.identity import KEY_VARIABLE
from webcrawl.crawl import drawing
from webcrawl.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.settings import BaseSettings


_SINGLE = {
    "SCHEDULER": "webcrawl.scheduler.Scheduler",
    "DOWNLOADER": "webcrawl.engine.downloader.DirectDownloader",
}
_CHAINS = {
    "DOWNLOADER_MIDDLEWARES": (
        "webcrawl.downloadermiddlewares.scope.ScopeMiddleware",
        "webcrawl.downloadermiddlewares.robots.RobotsMiddleware",
        "webcrawl.downloadermiddlewares.sitemaps.SitemapMiddleware",
        "webcrawl.downloadermiddlewares.decoding.DecodingMiddleware",
        "webcrawl.downloadermiddlewares.outcome.OutcomeMiddleware",
    ),
    "SPIDER_MIDDLEWARES": ("webcrawl.spidermiddlewares.page.PageMiddleware",),
}
"""Each in the order from the engine to the network."""
_EXCLUSIONS = "webcrawl.extensions.exclusions.Exclusions"
_ENGINE = "webcrawl.extensions.refusals.Refusals"
_HANDLER = "webcrawl.fetching.http.HttpDownloadHandler"
_ALL = (
    'write ADDONS = {"webcrawl.Addon": 100} into the settings module, or begin it with: '
    "from webcrawl.settings import *"
)


class Detached:
    """A scheduler of commands that show single pages: no crawl, and so it needs no essential parts."""


def require(settings: BaseSettings) -> None:
    """:raises ConfigurationError: the crawl has some of the essential parts, and not all of them."""
    if problems := missing(settings):
        raise ConfigurationError(problems)


def is_detached(settings: BaseSettings) -> bool:
    """Return True for a command that shows single pages and runs no crawl."""
    return _is(settings["SCHEDULER"], Detached)


def missing(settings: BaseSettings) -> list[Problem]:
    """Return the missing essential parts of a crawl that has any of ours; a problem for each wrong setting."""
    if is_detached(settings):
        return []
    chains = {name: components(settings, name) for name in _CHAINS}
    single = {name: _is(settings[name], load_object(path)) for name, path in _SINGLE.items()}
    lacks = {
        name: [path for path in paths if not _has(chains[name], path)] for name, paths in _CHAINS.items()
    }
    lacking = [name for name, there in single.items() if not there]
    lacking += [name for name, paths in lacks.items() if len(paths) == len(_CHAINS[name])]
    if len(lacking) == len(_SINGLE) + len(_CHAINS):
        return []
    if len(lacking) > 1:
        there = next(name for name in (*_SINGLE, *_CHAINS) if name not in lacking)
        why = (
            f"is this crawler's without its other parts ({', '.join(lacking)}), and would be impolite; {_ALL}"
        )
        return [Problem(there, why)]
    problems = [
        Problem(
            name,
            f"must be {path} or a subclass, not {settings[name]!r}: it keeps the crawl polite; remove the line",
        )
        for name, path in _SINGLE.items()
        if not single[name]
    ]
    for name, paths in lacks.items():
        if paths:
            problems.append(Problem(name, f"the crawl needs {' and '.join(paths)}; {_back(name)}"))
        problems += _disordered(name, chains[name])
    extensions = components(settings, "EXTENSIONS")
    if not _has(extensions, _ENGINE):
        why = f"the crawl needs {_ENGINE}, which sets the engine for files and inline requests"
        problems.append(Problem("EXTENSIONS", f"{why}; {_back('EXTENSIONS')}"))
    if settings.get("EXCLUSION_FILE") and not _has(extensions, _EXCLUSIONS):
        why = f"{_EXCLUSIONS} is not in force, and EXCLUSION_FILE would not be read; {_back('EXTENSIONS')}"
        problems.append(Problem("EXTENSIONS", why))
    problems += drawing.problems(settings)
    reasons = []
    if settings.getfloat("POLITENESS_ADDRESS_DELAY") > 0:
        reasons.append("since POLITENESS_ADDRESS_DELAY is set")
    if settings.get("IDENTITY_KEY_FILE") or os.environ.get(KEY_VARIABLE):
        reasons.append("since no other one signs requests, and there is a key to sign them")
    problems += [
        Problem("DOWNLOAD_HANDLERS", f"{scheme} must be {_HANDLER}, {reason}")
        for reason in reasons
        for scheme, _ in foreign_handlers(settings)
    ]
    return problems


def foreign_handlers(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    """Yield the schemes http and https if our handler does not fetch them, each with the path of its handler."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    ours = load_object(_HANDLER)
    for scheme in ("http", "https"):
        handler = handlers.get(scheme)
        if handler is not None and not _is(handler, ours):
            yield scheme, handler if isinstance(handler, str) else global_object_name(handler)


def components(settings: BaseSettings, name: str) -> list[type]:
    """Return the classes of a setting that lists components, in their order."""
    paths = build_component_list(settings.get_component_priority_dict_with_base(name))
    return [load_object(path) for path in paths]


def _has(chain: Sequence[type], path: str) -> bool:
    wanted = load_object(path)
    return any(_is(component, wanted) for component in chain)


def _is(component: str | type, wanted: type) -> bool:
    loaded = load_object(component)
    return isinstance(loaded, type) and issubclass(loaded, wanted)


def _back(name: str) -> str:
    return f"leave it out of {name} and {name}_BASE as webcrawl/settings.py has it"


def _disordered(name: str, chain: Sequence[type]) -> Iterator[Problem]:
    """Check the order: robots.txt is read after decoding, and nothing comes between the network and the clocks."""
    places = [
        (place, path)
        for path in _CHAINS[name]
        for place in [next((place for place, link in enumerate(chain) if _is(link, load_object(path))), None)]
        if place is not None
    ]
    for (place, path), (further, other) in pairwise(places):
        if place > further:
            yield Problem(name, f"{path} must come before {other}; {_back(name)}")
