"""Lists the choices of the form for a new crawl: the project's spiders, the settings that an order may have, and the
time zones of schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from scrapy.spiderloader import get_spider_loader

from webcrawl.config import SETTINGS
from webcrawl.features.steering.live_settings import LIVE, as_text
from webcrawl.web.service.cron import zones
from webcrawl.web.service.open_settings import GROUPS

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy.settings import Settings

OTHER = "opened by this service"
"""The group of settings that SERVICE_ORDER_SETTINGS opens."""


class FormSetting(TypedDict):
    """A setting that an order may have."""

    name: str
    group: str
    meaning: str
    unit: str
    allowed: str
    value: str


class FormAnswer(TypedDict):
    """What an order, and a schedule, may have."""

    spiders: list[str]
    settings: list[FormSetting]
    zones: list[str]


def build_form(settings: Settings, allowed: Collection[str]) -> FormAnswer:
    """Return the names of the spiders, each setting with its group, meaning, unit, allowed values and the value that
    it has without an order's, and the names of the time zones. ``settings``: those of all crawls. ``allowed``: those
    that an order may have."""
    groups = {name: group for group, names in GROUPS.items() for name in names}
    order = [*groups, *sorted(name for name in allowed if name not in groups)]
    return {
        "spiders": sorted(get_spider_loader(settings).list()),
        "settings": [
            _described(name, groups.get(name, OTHER), settings) for name in order if name in allowed
        ],
        "zones": sorted(zones()),
    }


def _described(name: str, group: str, settings: Settings) -> FormSetting:
    if (ours := _OURS.get(name)) is not None:
        return {
            "name": name,
            "group": group,
            "meaning": ours.meaning,
            "unit": ours.unit,
            "allowed": ours.reader.allowed,
            "value": as_text(ours.value(settings)),
        }
    live = LIVE.get(name)
    return {
        "name": name,
        "group": group,
        "meaning": "A setting of Scrapy." if live is None else live.meaning,
        "unit": "" if live is None else live.unit,
        "allowed": "" if live is None else live.reader.allowed,
        "value": as_text(settings.get(name)),
    }


_OURS = {item.name: item for item in SETTINGS}
