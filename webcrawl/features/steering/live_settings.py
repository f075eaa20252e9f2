"""The table of the settings that can be changed while a crawl runs, and the check of a change.

A changed value is text, as on the command line. It is read and checked as at the start of a crawl: by the readers and
checks of ``webcrawl/config``. The arguments of a spider that decide about scope are in the table, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.config import SETTINGS, Configuration, check
from webcrawl.config.copies import copy_settings
from webcrawl.config.readers import EMPTY, Refusal, SettingReader, choice, domains, optional, whole
from webcrawl.config.vocabulary import FOREIGN, nearest, scrapy_reader
from webcrawl.crawl.rules import wrong_files
from webcrawl.errors import Problem
from webcrawl.scope.url_rules import SITES, AllowRule, PatternError
from webcrawl.scope.whitelist import WhitelistError, load_whitelist

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

VALUE_MOST = 10_000
"""Characters of a value."""
_SHOWN_MOST = 60
"""Characters of an unknown name in a message."""


@dataclass(frozen=True, slots=True)
class LiveSetting:
    """A setting, or an argument of the spider, that can be changed while the crawl runs."""

    name: str
    group: str
    reader: SettingReader
    unit: str
    meaning: str
    is_argument: bool = False
    """True for an argument of the spider."""
    is_file: bool = False
    """True if the value is the path of a file, which each worker reads."""

    @property
    def field_name(self) -> str:
        return self.name.lower()


_GROUPS = {
    "concurrency": ("CONCURRENT_REQUESTS",),
    "delays": (
        "POLITENESS_MODEL",
        "POLITENESS_MIN_DELAY",
        "POLITENESS_MAX_DELAY",
        "POLITENESS_FACTOR",
        "POLITENESS_UNKNOWN_DELAY",
        "POLITENESS_CRAWL_DELAY_MAX",
        "POLITENESS_RATE_LIMIT_MAX",
        "POLITENESS_HOURS",
        "POLITENESS_HOURS_FILE",
    ),
    "failing hosts": (
        "HEALTH_FAILURES_TO_PARK",
        "HEALTH_PARK_SECONDS",
        "HEALTH_PARK_MAX_SECONDS",
        "HEALTH_PARKS_TO_GIVE_UP",
    ),
    "bandwidth": ("BANDWIDTH_MAX",),
    "limits": ("CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_TIMEOUT", "REQUESTS_PER_KEY_MAX", "PAGE_BUDGET"),
    "scope": (
        "DEPTH_LIMIT",
        "URLLENGTH_LIMIT",
        "EXTENSIONS_REFUSED",
        "ALLOW_FILE",
        "DENY_FILE",
        "USELESS_PATHS_FILE",
        "TOP_LEVEL_DOMAINS",
        "PORTS_ALLOWED",
        "PATH_SEGMENTS_MAX",
        "PATH_REPEATS_MAX",
    ),
}
"""Settings of ours, by what they are about."""

_OF_SCRAPY = {
    "CLOSESPIDER_ITEMCOUNT": ("limits", "items", "Stop after this number of items; 0: no limit."),
    "CLOSESPIDER_ERRORCOUNT": (
        "limits",
        "errors",
        "Stop after this number of failed callbacks; 0: no limit.",
    ),
    "LOG_LEVEL": ("log", "", "Least level of the messages in the log."),
}


def _level(value: object) -> object:
    """Read a level of messages. Scrapy takes any number, and below 1 all messages of all libraries."""
    read = scrapy_reader("LOG_LEVEL")
    assert read is not None
    read.read(value)
    text = str(value).strip()
    if text == "NOTSET":
        raise ValueError
    if not text.isalpha() and not (text.isascii() and text.isdigit() and 1 <= int(text) <= _LEVEL_MOST):
        raise ValueError
    return value


_LEVEL_MOST = 100
_COUNT_MOST = 10**12
_READERS = {
    "CLOSESPIDER_ITEMCOUNT": whole(0, _COUNT_MOST, zero="no limit"),
    "CLOSESPIDER_ERRORCOUNT": whole(0, _COUNT_MOST, zero="no limit"),
    "LOG_LEVEL": SettingReader(
        f"DEBUG, INFO, WARNING, ERROR, CRITICAL or a whole number from 1 to {_LEVEL_MOST}", _level
    ),
}
"""Readers of Scrapy's settings: narrower than Scrapy's own."""

_LASTING = {
    "CANONICAL_RULES": "the crawl would not know which URLs it has seen",
    "HOST_RULES_FILE": "the crawl would not know which URLs it has seen",
    "POLITENESS_KEY": "the crawl's queues have the keys with which it was begun",
    "FRONTIER_BACKEND": "it is where the state of the crawl is stored",
    "FRONTIER_SEEN": "it is how the state of the crawl is stored",
    "REDIS_URL": "it is where the state of the crawl is stored",
    "JOBDIR": "it is where the state of the crawl is stored",
}
"""Settings that a crawl keeps for its lifetime, and why."""
_ELSEWHERE = {
    "EXCLUSION_FILE": "the file is read again when it changes, and scrapy exclude excludes a site at once",
    "DOWNLOAD_DELAY": "set POLITENESS_MIN_DELAY",
    "DOWNLOAD_SLOTS": "scrapy delay HOST SECONDS sets the delay of a host",
}
"""Settings that have another way to be changed."""


def _argument(name: str) -> SettingReader:
    """Return the reader of an argument of the spider."""

    def pattern(value: object) -> str:
        try:
            AllowRule(str(value))
        except PatternError as error:
            raise Refusal(f"must be a regular expression ({error})") from error
        return str(value)

    def whitelist(value: object) -> str:
        try:
            load_whitelist(str(value))
        except WhitelistError as error:
            raise Refusal(f"must be a list of domains, or a file of them ({error})") from error
        return str(value)

    readers = {
        "allowed_domains": domains(),
        "domains": SettingReader("a list of domains, or a file of them", whitelist),
        "allow": SettingReader("a regular expression", pattern),
        "stay": choice(*SITES),
    }
    return optional(readers[name])


_ARGUMENTS = {
    "allowed_domains": "Domains on which links are followed. If empty, all.",
    "domains": "List of domains, or a file of them, on which links are followed. If empty, all.",
    "allow": "Regular expression that must match the URLs that are followed. If empty, all are.",
    "stay": "Part of the web in which links of a page stay: domain or host. If empty, all.",
}


def _table() -> dict[str, LiveSetting]:
    ours = {item.name: item for item in SETTINGS}
    live: dict[str, LiveSetting] = {}
    for group, names in _GROUPS.items():
        for name in names:
            if name in ours:
                item = ours[name]
                live[name] = LiveSetting(
                    name, group, item.reader, item.unit, item.meaning, is_file=name.endswith("_FILE")
                )
        if group == "scope":
            for name, meaning in _ARGUMENTS.items():
                live[name] = LiveSetting(name, group, _argument(name), "", meaning, is_argument=True)
    for name, (group, unit, meaning) in _OF_SCRAPY.items():
        reader = _READERS[name]
        live[name] = LiveSetting(name, group, reader, unit, meaning)
    return live


LIVE = _table()
"""Each setting that can be changed while a crawl runs, by its name."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a crawl, with those that operators have changed."""

    configuration: Configuration
    arguments: Mapping[str, Any]
    """The arguments of the spider that are in the table, those of its class included; None for none."""
    scrapy: Mapping[str, Any]
    """The settings of Scrapy that are in the table."""

    def of(self, name: str) -> Any:
        """Return the value of a setting in the table."""
        if name in self.arguments:
            return self.arguments[name]
        return self.scrapy[name] if name in self.scrapy else getattr(self.configuration, name.lower())

    def texts(self) -> dict[str, str]:
        """Return all values in the table as they can be given on the command line."""
        return {name: as_text(self.of(name)) for name in LIVE}


def values_at_start(settings: BaseSettings, configuration: Configuration, spider: object) -> Values:
    """Return the values with which a process was started."""
    arguments = {name: getattr(spider, name, None) or None for name in _ARGUMENTS}
    return Values(configuration, arguments, {name: settings[name] for name in _OF_SCRAPY})


def changed(start: Values, settings: BaseSettings, overlay: Mapping[str, str]) -> Values:
    """Return the values after the changes of operators. ``settings``: those of the start. ``overlay``: checked values
    as text, by name."""
    over = _over(settings, {name: text for name, text in overlay.items() if not LIVE[name].is_argument})
    read = Configuration.from_settings(over)
    names = [name for name in overlay if name in LIVE]
    ours = [name for name in names if not LIVE[name].is_argument and name not in _OF_SCRAPY]
    configuration = replace(
        start.configuration, **{name.lower(): getattr(read, name.lower()) for name in ours}
    )
    if configuration.politeness_max_delay < configuration.politeness_min_delay:
        configuration = replace(configuration, politeness_max_delay=configuration.politeness_min_delay)
    arguments = {name: LIVE[name].reader.read(overlay[name]) for name in names if LIVE[name].is_argument}
    scrapy = {name: over[name] for name in names if name in _OF_SCRAPY}
    return Values(configuration, {**start.arguments, **arguments}, {**start.scrapy, **scrapy})


def find_problems(
    changes: Mapping[str, str | None], settings: BaseSettings, overlay: Mapping[str, str]
) -> list[Problem]:
    """Return all problems of a change; empty if it can be made. Those that were there before do not count.

    ``changes``: values as text by name; None takes an override back. ``settings``: those of the start of the crawl.
    ``overlay``: the overrides so far.
    """
    problems = [problem for name, value in changes.items() for problem in _alone(name, value)]
    if problems:
        return problems
    before = {name: text for name, text in overlay.items() if name in LIVE and not LIVE[name].is_argument}
    after = dict(before)
    for name, value in changes.items():
        if name in LIVE and not LIVE[name].is_argument:
            after.pop(name, None)
            if value is not None:
                after[name] = value
    known = set(check(_over(settings, before)))
    over = _over(settings, after)
    problems = [problem for problem in check(over, after) if problem not in known]
    if not problems and any(LIVE[name].is_file for name in after.keys() & changes.keys()):
        configuration = Configuration.from_settings(over)
        problems = [Problem(name, line) for name, line in wrong_files(configuration) if name in changes]
    return problems


def normal(name: str, text: str) -> str:
    """Return a value as it is stored: the path of a file is absolute, since workers have folders of their own."""
    is_path = name in LIVE and (LIVE[name].is_file or (name == "domains" and _is_file(text)))
    return absolute(text) if is_path and text not in EMPTY else text


def absolute(path: str) -> str:
    """Return a path as other processes find it, which have folders of their own."""
    return str(Path(path).absolute())


def _is_file(text: str) -> bool:
    # A long list is no name that a file can have.
    with suppress(OSError, ValueError):
        return Path(text).is_file()
    return False


def as_text(value: Any) -> str:
    """Return a value as it can be given on the command line."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(sorted(map(str, value)) if isinstance(value, set | frozenset) else map(str, value))
    return str(value)


def _alone(name: str, value: str | None) -> Iterable[Problem]:
    """Yield the problem of one change by itself."""
    if name not in LIVE:
        yield _not_live(name)
    elif value is not None:
        if len(value) > VALUE_MOST:
            yield Problem(name, f"has {len(value):,} characters; at most {VALUE_MOST:,} are allowed")
        elif why := LIVE[name].reader.problem(value):
            yield Problem(name, why)


def _not_live(name: str) -> Problem:
    """Return the problem of a name that is not in the table."""
    if name in _ELSEWHERE:
        return Problem(name, f"cannot be changed while the crawl runs; {_ELSEWHERE[name]}")
    if name in _LASTING:
        return Problem(name, f"cannot be changed: {_LASTING[name]}; begin another crawl with -s {name}=...")
    if name in FOREIGN or any(item.name == name for item in SETTINGS):
        again = f"stop the crawl and start it again with -s {name}=..."
        return Problem(name, f"cannot be changed while the crawl runs; {again}")
    shown = name if len(name) <= _SHOWN_MOST else f"{name[:_SHOWN_MOST]}..."
    meant = nearest(name, LIVE) or nearest(name.upper(), LIVE) or nearest(name.lower(), LIVE)
    return Problem(
        shown,
        f"is not a setting; did you mean {meant}?"
        if meant
        else "is not a setting; scrapy set lists those that can be changed",
    )


def _over(settings: BaseSettings, values: Mapping[str, str]) -> BaseSettings:
    """Return a copy of settings with other values, as if they had been given on the command line."""
    copied = copy_settings(settings)
    copied.frozen = False
    for name, value in values.items():
        copied.set(name, value, priority="cmdline")
    return copied
