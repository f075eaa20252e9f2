"""The add-on: ``ADDONS = {"webcrawl.Addon": 100}`` makes the crawls of any Scrapy project crawls of this frontier.

It sets what ``webcrawl/settings.py`` sets, at the priority ``addon``: whatever the project, a spider or the command
line sets itself has precedence. The tables of components are completed, not replaced. A part that the crawl cannot do
without and that the project sets to something else is refused when the crawl starts (``crawl/essentials.py``).
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_reactor_installed

from webcrawl import settings as ours
from webcrawl.crawl.drawing import replace_handler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

_OF_THE_PROJECT = frozenset(
    {
        # What a project is.
        "BOT_NAME",
        "SPIDER_MODULES",
        "NEWSPIDER_MODULE",
        "COMMANDS_MODULE",
        # What its spiders may depend on: Scrapy's defaults stay.
        "COOKIES_ENABLED",
        "HTTPPROXY_ENABLED",
        "DEFAULT_REQUEST_HEADERS",
        "WARN_ON_GENERATOR_RETURN_VALUE",
        # The frontier applies politeness; these would be taken for wishes of the project.
        "ROBOTSTXT_OBEY",
        "DOWNLOAD_DELAY",
        "CONCURRENT_REQUESTS_PER_DOMAIN",
        "AUTOTHROTTLE_ENABLED",
    }
)
"""Settings of ``webcrawl/settings.py`` that are for this crawler's own project."""
_EVENT_LOOP = "ASYNCIO_EVENT_LOOP"


class Addon:
    """A Scrapy add-on, named in ``ADDONS``."""

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Complete the settings of a process, from which it sets up its log and its event loop."""
        complete(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        """Complete the settings of a crawl, which may have got the add-on from its spider."""
        complete(settings)


def complete(settings: BaseSettings) -> None:
    """Set what the crawl needs, and its defaults, at the priority ``addon``. A second time changes nothing."""
    for name, value in _table():
        if name == _EVENT_LOOP and is_reactor_installed():
            continue
        if name.endswith("_BASE"):
            # A table that a project has set itself is completed as well.
            settings[name].update(value, priority="addon")
        else:
            settings.set(name, copy(value), priority="addon")
    replace_handler(settings)


def complete_if_used(settings: BaseSettings) -> None:
    """Complete settings that name the add-on, before Scrapy does: for commands that check them."""
    if is_used(settings):
        complete(settings)


def is_used(settings: BaseSettings) -> bool:
    """Return True if the settings name the add-on."""
    return any(
        place is not None and load_object(addon) is Addon
        for addon, place in settings.getdict("ADDONS").items()
    )


def _table() -> Iterator[tuple[str, Any]]:
    """Yield the names and values of ``webcrawl/settings.py`` that are for every project."""
    for name, value in vars(ours).items():
        if name.isupper() and name not in _OF_THE_PROJECT:
            yield name, value
