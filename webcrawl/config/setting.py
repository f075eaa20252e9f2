"""A row of the table of settings: name, reader, default, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.config.presets import preset

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.config.readers import SettingReader

MIB = 1 << 20
DAY = 86_400
YEAR = 366 * DAY
ANY = 1 << 62


def setting(reader: SettingReader, default: object, unit: str, meaning: str) -> Any:
    """Return a dataclass field that is a setting. ``default`` is given as in a settings module."""
    about = {"reader": reader, "default": default, "unit": unit, "meaning": meaning}
    return field(default=reader.read(default), metadata=about)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table of settings."""

    name: str
    reader: SettingReader
    default: object
    """The default value, as a settings module has it."""
    unit: str
    meaning: str

    @property
    def field_name(self) -> str:
        return self.name.lower()

    def value(self, settings: BaseSettings) -> object:
        """Return the value as given, or the default if no value was given but Scrapy's own default; or that of a
        preset.
        """
        is_set = (settings.getpriority(self.name) or 0) > 0
        return preset(self.name, settings[self.name] if is_set else self.default, self.default, settings)

    def read(self, settings: BaseSettings) -> Any:
        return self.reader.read(self.value(settings))
