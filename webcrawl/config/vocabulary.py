"""The names of all settings, and the types of Scrapy's settings as far as their defaults show them."""

from __future__ import annotations

import difflib
import json
import logging
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from webcrawl.config.readers import Reader, as_list, as_switch, choice
from webcrawl.config.renames import SETTINGS as RENAMED
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.settings import BaseSettings

_WITHOUT_DEFAULT = """
    FILES_EXPIRES FILES_RESULT_FIELD FILES_URLS_FIELD IMAGES_EXPIRES IMAGES_MIN_HEIGHT IMAGES_MIN_WIDTH
    IMAGES_RESULT_FIELD IMAGES_THUMBS IMAGES_URLS_FIELD MEDIA_ALLOW_REDIRECTS META_COPY_WARN_SKIP_KEYS
"""
_SCRAPY_REDIS = """
    DUPEFILTER_KEY MAX_IDLE_TIME MAX_IDLE_TIME_BEFORE_CLOSE PIPELINE_KEY REDIS_CLS
    REDIS_CONCURRENT_REQUESTS REDIS_DB REDIS_DECODE_RESPONSES REDIS_ENCODING REDIS_HOST REDIS_ITEMS_KEY
    REDIS_ITEMS_SERIALIZER REDIS_PARAMS REDIS_PORT REDIS_START_URLS_AS_SET REDIS_START_URLS_AS_ZSET
    REDIS_START_URLS_BATCH_SIZE REDIS_START_URLS_KEY REDIS_URL SCHEDULER_DUPEFILTER_CLASS
    SCHEDULER_DUPEFILTER_KEY SCHEDULER_FLUSH_ON_START SCHEDULER_IDLE_BEFORE_CLOSE SCHEDULER_PERSIST
    SCHEDULER_QUEUE_CLASS SCHEDULER_QUEUE_KEY SCHEDULER_SERIALIZER START_URLS_AS_SET START_URLS_AS_ZSET
    START_URLS_KEY STATS_KEY
"""

FOREIGN = frozenset(name for name in dir(default_settings) if name.isupper()).union(
    _WITHOUT_DEFAULT.split(), _SCRAPY_REDIS.split()
)
"""The settings of Scrapy and of scrapy-redis."""

_LEVELS = choice("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
_SIMILAR = 0.75


def unknown_names(given: Iterable[str], known: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each name in ``given`` that is no setting, with the name that was probably meant."""
    names = FOREIGN | set(known)
    for name in given:
        if name in names:
            continue
        if name in RENAMED:
            yield Problem(name, f"is called {RENAMED[name]}")
            continue
        meant = nearest(name.upper(), names)
        hint = f"; did you mean {meant}?" if meant else ""
        yield Problem(name, f"is no setting{hint}")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word in ``words`` that ``word`` most probably misspells; None if none is similar."""
    found = difflib.get_close_matches(word, sorted(words), 1, _SIMILAR)
    return found[0] if found else None


def wrong_types(settings: BaseSettings, names: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each of Scrapy's settings in ``names`` whose value does not fit the type of its default."""
    for name in names:
        reader = _reader(name, getattr(default_settings, name, None)) if name in FOREIGN else None
        if reader and (why := reader.problem(settings[name])):
            yield Problem(name, why)


def _reader(name: str, default: object) -> Reader | None:
    """Return a reader for a setting of Scrapy with this default; None if the default does not show the type."""
    if name == "LOG_LEVEL":
        return Reader(_LEVELS.allowed, _log_level)
    if isinstance(default, bool) or name.endswith("_ENABLED"):
        return Reader("True or False", as_switch)
    if isinstance(default, int):
        return Reader("a whole number", lambda value: int(str(value)))
    if isinstance(default, float):
        return Reader("a number", lambda value: float(str(value)))
    if isinstance(default, dict):
        return Reader("a JSON object", _as_object)
    if isinstance(default, list):
        return Reader("a list", as_list)
    return None


def _log_level(value: object) -> int:
    """Return the number of a log level that is given by name or number."""
    levels = logging.getLevelNamesMapping()
    return levels[value] if isinstance(value, str) and value in levels else int(str(value))


def _as_object(value: object) -> None:
    if isinstance(value, str):
        value = json.loads(value)
    if not hasattr(value, "items"):
        raise TypeError
