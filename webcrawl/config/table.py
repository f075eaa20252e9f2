"""The table of the crawler's settings. They are declared in this package alone: name, reader, default, unit and
meaning."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from webcrawl.config.archive import ArchiveSettings
from webcrawl.config.dashboard import DashboardSettings
from webcrawl.config.display import DisplaySettings
from webcrawl.config.features import (
    FocusSettings,
    HintSettings,
    RefusalSettings,
    RevisitSettings,
    SeedRefillSettings,
    UsageSettings,
    WebsubSettings,
)
from webcrawl.config.fetching import FetchingSettings
from webcrawl.config.frontier import FrontierSettings
from webcrawl.config.identity import IdentitySettings
from webcrawl.config.metrics import MetricsSettings
from webcrawl.config.notifications import NotificationSettings
from webcrawl.config.politeness import PolitenessSettings
from webcrawl.config.processing import ProcessingSettings
from webcrawl.config.scope import ScopeSettings
from webcrawl.config.search import SearchSettings
from webcrawl.config.service import ServiceSettings
from webcrawl.config.setting import Setting
from webcrawl.config.workers import WorkersSettings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


# A dataclass has the fields of its last base first: the order of the table.
@dataclass(frozen=True, kw_only=True)
class DeclaredSettings(
    ServiceSettings,
    NotificationSettings,
    MetricsSettings,
    DashboardSettings,
    DisplaySettings,
    SearchSettings,
    ArchiveSettings,
    RevisitSettings,
    WebsubSettings,
    HintSettings,
    FocusSettings,
    UsageSettings,
    ProcessingSettings,
    FetchingSettings,
    IdentitySettings,
    SeedRefillSettings,
    RefusalSettings,
    ScopeSettings,
    PolitenessSettings,
    WorkersSettings,
    FrontierSettings,
):
    """The values of all settings that are declared here. Without arguments: the defaults."""


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(item.name.upper(), **item.metadata) for item in fields(DeclaredSettings) if item.metadata
)
"""Every setting of ours, in the order of its fields."""

_BY_NAME = {item.name: item for item in SETTINGS}


def defaults() -> dict[str, Any]:
    """Return the default of each setting by its name, as a settings module has it; the lists are copies."""
    return {item.name: copy(item.default) for item in SETTINGS}


def setting_value(settings: BaseSettings, name: str) -> Any:
    """Return the value of one setting of ours, as it was given or by a preset; it is not checked."""
    return _BY_NAME[name].value(settings)
