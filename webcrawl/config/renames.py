"""Old names of settings and old import paths of classes, which are refused with the present ones, and extensions that
are none any more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from webcrawl.errors import Problem

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

SETTINGS = {
    "PAGES_PER_KEY_MAX": "REQUESTS_PER_KEY_MAX",
    "ROBOTS_UNREACHABLE_THEN": "ROBOTS_UNREACHABLE_POLICY",
    "SEEDS_LOW_KEYS": "SEED_REFILL_THRESHOLD",
    "STORES": "ARCHIVE_SINKS",
    "WEBSUB_PAUSE_SECONDS": "WEBSUB_DEBOUNCE_SECONDS",
}
"""The present name of each renamed setting."""

MODULES = {
    "core.downloader": "engine.downloader",
    "downloadermiddlewares.contents": "crawl.feature_middlewares",
    "downloadermiddlewares.decoding": "fetching.decoding_middleware",
    "downloadermiddlewares.hints": "crawl.feature_middlewares",
    "downloadermiddlewares.robots": "robots.middleware",
    "downloadermiddlewares.visits": "crawl.feature_middlewares",
    "downloadermiddlewares.websub": "crawl.feature_middlewares",
    "downloadhandlers.http": "fetching.http",
    "exporters.flat_csv": "feed_exporters",
    "exporters.parquet": "feed_exporters",
    "features.content_seen.middleware": "crawl.feature_middlewares",
    "features.hints.middleware": "crawl.feature_middlewares",
    "features.revisits.middleware": "crawl.feature_middlewares",
    "features.websub.middleware": "crawl.feature_middlewares",
    "linklog.log": "links.log",
    "processing.head": "processing.modules",
    "processing.image": "processing.modules",
    "processing.json_ld": "processing.modules",
    "processing.language": "processing.modules",
    "processing.listing": "processing.modules",
    "processing.plain_text": "processing.modules",
    "processing.tags": "processing.modules",
    "search.engines.opensearch": "search.opensearch",
    "search.engines.tantivy": "search.tantivy",
    "visits.freshness": "features.revisits.freshness",
    "visits.policies": "features.revisits.policies",
}
"""The present path of each moved module with classes that a setting may name, both below ``webcrawl``."""

CLASSES = {
    "crawl.feature_middlewares.ContentsMiddleware": "crawl.feature_middlewares.ContentSeenMiddleware",
    "crawl.feature_middlewares.VisitsMiddleware": "crawl.feature_middlewares.RevisitsMiddleware",
}
"""The present path of each renamed class in a module of the present."""

SWITCHES = {
    "extensions.checkpoints.Checkpoints": "CHECKPOINT_INTERVAL",
    "extensions.feeding.Feeding": "FRONTIER_BACKEND",
    "extensions.focus.Focus": "FOCUS",
    "extensions.importance.Importance": "FRONTIER_ORDER",
    "extensions.replenishing.Replenish": "SEEDS_COMMAND",
    "extensions.revisits.Revisits": "CRAWL_MODE",
    "extensions.traps.Traps": "TRAPS_QUARANTINE",
    "extensions.websub.Websub": "WEBSUB_CALLBACK_URL",
}
"""The setting that switches each feature on or off that was an extension."""

_PATH = re.compile(r"\bwebcrawl\.([\w.]+)\.(\w+)")


def renamed(settings: BaseSettings) -> Iterator[Problem]:
    """Yield a problem for each setting with an old name, and for each value with the old path of a class."""
    for name in sorted(settings):
        if (settings.getpriority(name) or 0) <= 0:
            continue
        if name in SETTINGS:
            yield Problem(name, f"is now called {SETTINGS[name]}")
        elif moved := _moved(settings[name]):
            yield Problem(name, moved)


def _moved(value: object) -> str:
    """Return a sentence on the classes in ``value`` that have moved or are no components any more; empty for none."""
    texts = [text for text in _texts(value) if "webcrawl." in text]
    found = [_PATH.fullmatch(path) for text in texts for path in re.split(r"[^\w.]+", text)]
    pairs = {
        match[0]: f"webcrawl.{path}"
        for match in found
        if match and (path := _present_path(match[1], match[2])) != f"{match[1]}.{match[2]}"
    }
    ended = {
        match[0]: SWITCHES[name]
        for match in found
        if match and (name := f"{match[1]}.{match[2]}") in SWITCHES
    }
    return "; ".join(
        [
            *(f"{old} is now called {new}" for old, new in pairs.items()),
            *(f"{old} is no longer an extension; set {name} instead" for old, name in ended.items()),
        ]
    )


def _present_path(module: str, name: str) -> str:
    path = f"{MODULES.get(module, module)}.{name}"
    return CLASSES.get(path, path)


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a value, those in lists and dictionaries too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)
