"""The settings of a crawl by which commands in other processes judge its URLs and describe it.

Each worker publishes them when it starts, with the values of the settings that can be changed. The names are a closed
list: none of them has a secret as its value.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

from webcrawl.config.copies import copy_settings
from webcrawl.config.readers import EMPTY
from webcrawl.features.steering.live_settings import LIVE, absolute, as_text, normal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.features.steering.store import WorkerState

KEPT = (
    "FETCH_PRIVATE_ADDRESSES",
    "SEEDS_PRIVATE_ADDRESSES",
    "EXCLUSION_FILE",
    "CANONICAL_RULES",
    "HOST_RULES_FILE",
    "POLITENESS_KEY",
    "POLITENESS_ADDRESS_DELAY",
    "POLITENESS_HOST_DELAY",
    "POLITENESS_DOMAIN_DELAY",
    "POLITENESS_GROUPS_FILE",
    "LEASE_SECONDS",
    "ROBOTS_TTL_SECONDS",
    "ROBOTS_UNREACHABLE_SECONDS",
    "ROBOTS_UNREACHABLE_POLICY",
    "ROBOTSTXT_USER_AGENT",
    "USER_AGENT",
    "CRAWLER_CONTACT",
    "REDIRECT_MAX_TIMES",
    "EMBED_HOPS_MAX",
    "TRAPS_QUARANTINE",
    "REVISIT_POLICY",
    "REVISIT_INTERVAL_SECONDS",
    "REVISIT_INTERVAL_MIN_SECONDS",
    "REVISIT_INTERVAL_MAX_SECONDS",
    "REVISIT_FRESH_MAX_SECONDS",
    "REVISIT_FASTER",
    "REVISIT_SLOWER",
)
"""Settings that are kept besides those that can be changed, if they were given."""

_PRIORITY = SETTINGS_PRIORITIES["cmdline"] - 1
"""Above the project's and the spider's, which may have changed since; below those of the command line."""


def kept_settings(settings: BaseSettings, start: Mapping[str, str]) -> dict[str, str]:
    """Return what a worker keeps besides ``start``, the values of the settings that can be changed. Paths are
    absolute: commands run in other folders."""
    changed = {
        name: as_text(settings[name])
        for name in KEPT
        if (settings.getpriority(name) or 0) > 0 and settings[name] is not None
    }
    paths = {
        name: absolute(text) for name, text in changed.items() if name.endswith("_FILE") and text not in EMPTY
    }
    return (
        changed | paths | {name: path for name, text in start.items() if (path := normal(name, text)) != text}
    )


def settings_of_crawl(settings: BaseSettings, workers: Sequence[WorkerState]) -> BaseSettings:
    """Return the settings of a command with those of the crawl, as its last worker was started with them. What was
    given on the command line is stronger."""
    last = _last(workers)
    if last is None:
        return settings
    copied = copy_settings(settings)
    copied.frozen = False
    for name, text in {**last.start, **last.kept}.items():
        if name in KEPT or (name in LIVE and not LIVE[name].is_argument):
            copied.set(name, text, priority=_PRIORITY)
    return copied


def arguments_of_crawl(workers: Sequence[WorkerState]) -> dict[str, Any]:
    """Return the arguments that can be changed of the spider of the last worker; those that it has."""
    last = _last(workers)
    if last is None:
        return {}
    texts = {**last.start, **last.kept}
    values: dict[str, Any] = {
        name: texts[name] for name, item in LIVE.items() if item.is_argument and texts.get(name)
    }
    if "allowed_domains" in values:
        values["allowed_domains"] = LIVE["allowed_domains"].reader.read(values["allowed_domains"])
    return values


def _last(workers: Sequence[WorkerState]) -> WorkerState | None:
    """Return the state of the last worker that said with which values it was started."""
    return max((worker for worker in workers if worker.start), key=attrgetter("at"), default=None)
