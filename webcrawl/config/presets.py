"""Settings that set others: the values that these have then, unless the user sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES

from webcrawl.config.readers import as_switch
from webcrawl.parsing.links import EMBEDS, FOLLOWED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

PRESETS: Mapping[str, Mapping[str, object]] = {
    "ARCHIVE_COMPLETE_PAGES": {
        "LINK_TYPES": sorted(FOLLOWED | EMBEDS),
        "EMBED_HOPS_MAX": 3,
        "MIME_TYPES_WANTED": ["*/*"],
        "DOWNLOAD_MAXSIZE": 32 << 20,
    }
}
"""The switches, each with the settings that it sets."""

_BY_NAME = {name: switch for switch, values in PRESETS.items() for name in values}
_PROJECT = SETTINGS_PRIORITIES["project"]


def preset(name: str, value: object, default: object, settings: BaseSettings) -> object:
    """Return the value that a switch gives to a setting; ``value``, the one that it has, if there is none.

    A value of the settings module counts as the user's if it is not the default; one of the command line or of a
    spider always does.
    """
    switch = _BY_NAME.get(name)
    if switch is None or value != default or (settings.getpriority(name) or 0) > _PROJECT:
        return value
    try:
        return PRESETS[switch][name] if as_switch(settings.get(switch, False)) else value
    except ValueError:
        return value  # the check of the switch itself reports it
