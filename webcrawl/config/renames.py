"""Old names of settings and old import paths of classes, which are refused with the present ones."""

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
    "downloadermiddlewares.contents": "features.content_seen.middleware",
    "downloadermiddlewares.decoding": "fetching.decoding_middleware",
    "downloadermiddlewares.hints": "features.hints.middleware",
    "downloadermiddlewares.robots": "robots.middleware",
    "downloadermiddlewares.visits": "features.revisits.middleware",
    "downloadermiddlewares.websub": "features.websub.middleware",
    "downloadhandlers.http": "fetching.http",
    "exporters.flat_csv": "feed_exporters",
    "exporters.parquet": "feed_exporters",
    "extensions.checkpoints": "features.checkpoints.extension",
    "extensions.feeding": "features.pushed_urls.extension",
    "extensions.focus": "features.focus.extension",
    "extensions.importance": "features.link_scores.extension",
    "extensions.replenishing": "features.seed_refill.extension",
    "extensions.revisits": "features.revisits.extension",
    "extensions.traps": "features.traps.extension",
    "extensions.websub": "features.websub.extension",
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

CLASSES = {"Importance": "LinkScores", "Replenish": "SeedRefillExtension"}
"""The present name of each class of these modules that has another one."""

_PATH = re.compile(r"\bwebcrawl\.([\w.]+)\.(\w+)")


def renamed(settings: BaseSettings) -> Iterator[Problem]:
    """Yield a problem for each setting with an old name, and for each value with the old path of a class."""
    for name in sorted(settings):
        if (settings.getpriority(name) or 0) <= 0:
            continue
        if name in SETTINGS:
            yield Problem(name, f"is called {SETTINGS[name]}")
        elif moved := _moved(settings[name]):
            yield Problem(name, moved)


def _moved(value: object) -> str:
    """Return a sentence with the present paths of the classes in ``value`` that have moved; empty for none."""
    found = [_PATH.fullmatch(path) for text in _texts(value) for path in re.split(r"[^\w.]+", text)]
    pairs = {
        match[0]: f"webcrawl.{MODULES[match[1]]}.{CLASSES.get(match[2], match[2])}"
        for match in found
        if match and match[1] in MODULES
    }
    return "; ".join(f"{old} is called {new}" for old, new in pairs.items())


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
