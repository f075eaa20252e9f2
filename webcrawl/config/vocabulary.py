"""The names of all settings, and the types of Scrapy's settings as far as their defaults show them."""

from __future__ import annotations

import difflib
import json
import logging
from functools import cache
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES, default_settings

from webcrawl.config.readers import SettingReader, as_list, as_switch, choice
from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from scrapy.settings import BaseSettings

_WITHOUT_DEFAULT = """
    CONCURRENT_REQUESTS_PER_IP
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
_SECONDS = ("DNS_TIMEOUT", "DOWNLOAD_DELAY")
"""Settings that may have fractions although their defaults are whole numbers."""
_SIMILAR = 0.75
_SLIPS = 2
_LEAST_LENGTH, _SURE_LENGTH = 6, 12
"""Shorter names than the first are too similar to others, and shorter ones than the second may have one slip."""


def unknown_names(
    names_used: Iterable[str], known: Iterable[str], prefixes: tuple[str, ...] = (), *, way_out: str = ""
) -> Iterator[Problem]:
    """Yield a problem for each name in ``names_used`` that is not a setting, with the name that was probably meant.

    Names that begin with one of ``prefixes`` are those of packages or of a project. ``way_out`` is what is said of
    these before SETTINGS_PREFIXES, with NAME for the name.
    """
    names = FOREIGN | set(known)
    for name in names_used:
        if name in names or name.startswith(prefixes):
            continue
        meant = nearest(name.upper(), names)
        if meant and _misspells(name, meant):
            yield Problem(name, f"is not a setting; did you mean {meant}?")
        else:
            hint = f"did you mean {meant}? For" if meant else "for"
            ways = f"{way_out.replace('NAME', name)}name its prefix in SETTINGS_PREFIXES"
            yield Problem(name, f"is not a setting; {hint} one of a package or of your own, {ways}")


def misspelt_names(
    settings: BaseSettings, ours: Iterable[str], prefixes: tuple[str, ...], checked: Collection[str]
) -> Iterator[Problem]:
    """Yield a problem for each setting of a spider or a settings module that misspells the name of a known one.

    Every other unknown name may be a project's own. ``checked``: names that are checked otherwise.
    """
    names = FOREIGN | set(ours)
    for name in sorted(settings):
        if (
            name in names
            or name in checked
            or name.startswith(prefixes)
            or (settings.getpriority(name) or 0) < SETTINGS_PRIORITIES["addon"]
        ):
            continue
        if (meant := _misspelt(name, names)) is not None:
            yield Problem(name, f"is not a setting; did you mean {meant}?")


@cache
def _misspelt(name: str, names: frozenset[str]) -> str | None:
    """Return the first of ``names`` that ``name`` misspells. A process looks at the same settings a dozen times."""
    return next((name_known for name_known in sorted(names) if _misspells(name, name_known)), None)


def _misspells(name: str, meant: str) -> bool:
    """Return True if ``name`` is ``meant`` with a slip or two of the keyboard.

    A name that continues another one (USER_AGENTS, LOG_FILES) is a name of its own.
    """
    upper = name.upper()
    if upper == meant:
        return True
    if upper[0] != meant[0] or upper.startswith(meant) or len(meant) < _LEAST_LENGTH:
        return False
    if abs(len(upper) - len(meant)) > _SLIPS:
        return False
    return _slips(upper, meant) <= (1 if len(meant) < _SURE_LENGTH else _SLIPS)


def _slips(first: str, second: str) -> int:
    """Return the number of letters added, left out, replaced or swapped with the next one."""
    before: list[int] = []
    last = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        line = [row]
        for column, other in enumerate(second, 1):
            steps = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != other))
            swapped = row > 1 and column > 1 and letter == second[column - 2] and first[row - 2] == other
            line.append(min(steps, before[column - 2] + 1) if swapped else steps)
        before, last = last, line
    return last[-1]


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the word in ``words`` that ``word`` most probably misspells; None if none is similar."""
    matches = difflib.get_close_matches(word, sorted(words), 1, _SIMILAR)
    return matches[0] if matches else None


def hint(word: str, words: Iterable[str]) -> str:
    """Return a hint on a word that is none of these: the one that it most probably misspells, or which there are."""
    known = list(words)
    if (meant := nearest(word, known)) is not None:
        return f"did you mean {meant}?"
    return f"there {'is' if len(known) < 2 else 'are'} {', '.join(known) or 'none'}"


def wrong_types(settings: BaseSettings, names: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each of Scrapy's settings in ``names`` whose value does not fit the type of its default."""
    for name in names:
        reader = scrapy_reader(name) if name in FOREIGN else None
        if reader and (why := reader.problem(settings[name])):
            yield Problem(name, why)


def scrapy_reader(name: str) -> SettingReader | None:
    """Return the reader of one of Scrapy's settings; None if its default does not show the type."""
    return _reader(name, vars(default_settings).get(name))


def _reader(name: str, default: object) -> SettingReader | None:
    """Return a reader for a setting of Scrapy with this default; None if the default does not show the type."""
    if name == "LOG_LEVEL":
        return SettingReader(_LEVELS.allowed, _log_level)
    if isinstance(default, bool) or name.endswith("_ENABLED"):
        return SettingReader("True or False", as_switch)
    if isinstance(default, int) and name not in _SECONDS:
        return SettingReader("a whole number", lambda value: int(str(value)))
    if isinstance(default, int | float):
        return SettingReader("a number", lambda value: float(str(value)))
    if isinstance(default, dict):
        return SettingReader("a JSON object", _as_object)
    if isinstance(default, list):
        return SettingReader("a list", as_list)
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
