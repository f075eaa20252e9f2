"""What a setting is: its name, what it may be, its default and what it means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.config.readers import Reader

MIB = 1 << 20
DAY = 86_400
YEAR = 366 * DAY
ANY = 1 << 62


def setting(reader: Reader, default: object, unit: str, meaning: str) -> Any:
    """A field of a settings class that is a setting."""
    about = {"reader": reader, "default": default, "unit": unit, "meaning": meaning}
    return field(default=reader.read(default), metadata=about)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table: what a setting is called, what it may be, its default and what it means."""

    name: str
    reader: Reader
    default: object
    """As it would stand in a settings module."""
    unit: str
    meaning: str

    @property
    def field_name(self) -> str:
        return self.name.lower()

    def value(self, settings: BaseSettings) -> object:
        """The value as given; the default when none is, or when Scrapy's own default is all there is."""
        if (settings.getpriority(self.name) or 0) <= 0:
            return self.default
        return settings[self.name]

    def read(self, settings: BaseSettings) -> Any:
        return self.reader.read(self.value(settings))
