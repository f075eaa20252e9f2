"""Copies of settings that can be changed while the given ones stay."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import TypeVar

from scrapy.settings import BaseSettings, SettingsAttribute

_Kind = TypeVar("_Kind", bound=BaseSettings)
_CHANGEABLE = (BaseSettings, dict, list, set)
"""Values of settings that a change alters in place."""


def copy_settings(settings: _Kind) -> _Kind:
    """Return a copy that can be changed while the given settings stay. ``Settings.copy`` copies every word
    and number too, which takes a tenth of the time of a start."""
    copied = copy(settings)
    copied.attributes = {
        name: SettingsAttribute(
            deepcopy(attribute.value) if isinstance(attribute.value, _CHANGEABLE) else attribute.value,
            attribute.priority,
        )
        for name, attribute in settings.attributes.items()
    }
    return copied
