"""Messages at the start of a crawl about the settings of Scrapy that were given.

Those without effect have a warning each, with what to write instead, and those that raise a delay a message, once in
a process. ``config/scrapy_settings.py`` has the table.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from webcrawl.config import Configuration
from webcrawl.config.scrapy_settings import (
    ATTRIBUTES,
    NOT_TOLD,
    OTHER_HANDLER,
    ROWS,
    ScrapySetting,
    asks_for_more,
    is_given,
    plain,
    raised,
    slot_delays,
    slots,
)
from webcrawl.crawl.essentials import foreign_handlers
from webcrawl.urls.lists import hostname

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_logged: set[str] = set()
"""The lines that this process has logged: a script with many crawls would repeat them with each."""

_SHOWN = 60
"""The number of characters of a value that are shown."""


def tell_of_settings(settings: BaseSettings, spider: Spider) -> None:
    """Log a line for each setting of Scrapy that has no effect, or not the expected one. Logs each once."""
    for level, lines in (
        (logging.WARNING, without_effect(settings, spider)),
        (logging.INFO, raised_delays(settings)),
    ):
        for line in lines:
            if line not in _logged:
                _logged.add(line)
                logger.log(level, "%s", line)


def without_effect(settings: BaseSettings, spider: object) -> Iterator[str]:
    """Yield a sentence for each given setting, and each attribute of the spider, that has no effect."""
    for row in ROWS:
        if row.effect == "none":
            names = [
                name for name in row.names if _is_wish(settings, name) and asks_for_more(settings, name, row)
            ]
            if names and not _is_read(settings, row):
                shown = ", ".join(_assignment(settings, name) for name in names)
                have = "has" if len(names) == 1 else "have"
                yield f"{shown} {have} no effect: {_effect_text(row)}"
    for name, ours, seconds in raised(settings):
        # A user who has given both knows which of them holds.
        is_wish = _is_wish(settings, name) and not _is_wish(settings, ours)
        if is_wish and (least := _seconds(settings, ours)) > seconds:
            yield (
                f"{_assignment(settings, name)} has no effect: it never lowers {ours}, which is {least:g}; for a "
                f"site of your own set {ours}={seconds:g}"
            )
    yield from _slots_without_effect(settings)
    for row in ATTRIBUTES:
        for attribute in row.names:
            if row.effect == "none" and attribute not in NOT_TOLD and hasattr(spider, attribute):
                yield f"The spider's attribute {attribute} has no effect: {_effect_text(row)}"


def _is_wish(settings: BaseSettings, name: str) -> bool:
    """Return True if a user gave the setting, and not an add-on that they use."""
    return is_given(settings, name) and (settings.getpriority(name) or 0) > SETTINGS_PRIORITIES["addon"]


def _slots_without_effect(settings: BaseSettings) -> Iterator[str]:
    """Yield a sentence for each thing that DOWNLOAD_SLOTS asks for and that has no effect."""
    slot_options = slots(settings)
    least = _seconds(settings, "POLITENESS_MIN_DELAY") if slot_options else 0.0
    lower = [host for host, seconds in slot_delays(settings).items() if seconds < least]
    several = [
        name for name, options in slot_options.items() if options.get("concurrency", 1) not in (1, "1")
    ]
    varied = [
        name
        for name, options in slot_options.items()
        if options.get("jitter") or options.get("randomize_delay")
    ]
    unnamed = [name for name in slot_options if hostname(name) is None]
    for what, names, why in (
        ("delay", lower, f"it never lowers POLITENESS_MIN_DELAY, which is {least:g}"),
        ("concurrency", several, "a site gets one request at a time, always"),
        ("jitter", varied, "delays are never shortened by chance"),
        ("options", unnamed, "a slot is the site of a host here, and that is no host"),
    ):
        if names:
            yield f"DOWNLOAD_SLOTS: {what} of {_cut(', '.join(names))} has no effect: {why}"


def _effect_text(row: ScrapySetting) -> str:
    return "; ".join(filter(None, (row.here, row.instead)))


def raised_delays(settings: BaseSettings) -> Iterator[str]:
    """Yield a sentence for each setting of Scrapy that raises one of ours."""
    for name, ours, seconds in raised(settings):
        if _seconds(settings, ours) == seconds:
            yield f"{_assignment(settings, name)}: {ours} is {seconds:g} s"
    if delays := slot_delays(settings):
        least = _seconds(settings, "POLITENESS_MIN_DELAY")
        delays_of_sites = [f"{host} {seconds:g} s" for host, seconds in delays.items() if seconds >= least]
        if delays_of_sites:
            yield f"DOWNLOAD_SLOTS: minimum delays of the sites of {_cut(', '.join(delays_of_sites))}"


def _seconds(settings: BaseSettings, ours: str) -> float:
    value: float = getattr(Configuration.from_settings(settings), ours.lower())
    return value


def _assignment(settings: BaseSettings, name: str) -> str:
    text = " ".join(str(plain(settings[name])).split())
    return f"{name}={_cut(text)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _is_read(settings: BaseSettings, row: ScrapySetting) -> bool:
    """Return True if a project has enabled the component that reads the settings of ``row``."""
    if not row.unless:
        return False
    if row.unless == OTHER_HANDLER:
        return any(foreign_handlers(settings))
    chain = "DOWNLOADER_MIDDLEWARES" if ".downloadermiddlewares." in row.unless else "EXTENSIONS"
    enabled = build_component_list(settings.get_component_priority_dict_with_base(chain))
    return load_object(row.unless) in map(load_object, enabled)
