"""The crawler's settings as typed values, and their checks. The other modules declare them; ``table`` lists all.

``check`` finds all wrong values in Scrapy's ``Settings``, which hold text from the command line or Python values.
``Configuration.from_settings`` reads them as typed values, and the crawl uses only these. The name of a setting is
that of its field in capitals. ``webcrawl/settings.py`` takes the defaults from ``table``.

To add a setting, add a field to one of these modules and the code that uses it. ``python -m tests.docs_tables`` then
adds its row to ``docs/reference/settings.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from webcrawl import storage
from webcrawl.config.checks import contradictions, sink_contradictions
from webcrawl.config.display import own_name
from webcrawl.config.features import seed_refill_contradictions, usage_contradictions
from webcrawl.config.identity import identity_contradictions
from webcrawl.config.metrics import metrics_contradictions
from webcrawl.config.processing import processing_contradictions
from webcrawl.config.scrapy_settings import translate, wrong_values
from webcrawl.config.search import search_contradictions
from webcrawl.config.setting import Setting
from webcrawl.config.table import SETTINGS, DeclaredSettings, defaults, setting_value
from webcrawl.config.vocabulary import misspelt_names, unknown_names, wrong_types
from webcrawl.errors import ConfigurationError, Problem
from webcrawl.politeness import contact
from webcrawl.politeness.contact import contact_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.settings import BaseSettings

    from webcrawl.storage.technology import Technology

__all__ = ["SETTINGS", "Configuration", "Setting", "check", "contact_problem", "defaults", "setting_value"]


_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Configuration(DeclaredSettings):
    """The settings of a crawl as typed values. Without arguments: the defaults."""

    politeness_slot_delays: Mapping[str, float] = field(default_factory=dict)
    """The delays of Scrapy's DOWNLOAD_SLOTS in seconds, by host. It is no setting of ours."""

    @property
    def first_delay(self) -> float:
        """The delay of a site before its first request has ended: after a crash it rests so long."""
        return max(self.politeness_min_delay, *self.politeness_slot_delays.values(), 0.0)

    robots_user_agent: str = ""
    """Scrapy's ROBOTSTXT_USER_AGENT: a further name of the crawler in robots.txt. It is no setting of ours."""

    @property
    def product_tokens(self) -> tuple[str, ...]:
        """The names of this crawler in robots.txt: that of its User-Agent, and that of ROBOTSTXT_USER_AGENT."""
        # Commands that judge no URL do not need it.
        from webcrawl.robots.text import product_tokens

        return product_tokens(self.user_agent, self.robots_user_agent)

    @property
    def storage(self) -> Technology:
        """The storage technology of the crawl."""
        return storage.technology_named(self.frontier_backend)

    @property
    def keeps_time_series(self) -> bool:
        """True if figures are published, and kept as time series: the storage outlives the process."""
        return self.time_series and self.storage.is_lasting

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Configuration:
        """Return the settings as typed values.

        :raises ConfigurationError: naming every setting that is wrong.
        """
        if problems := check(settings):
            raise ConfigurationError(problems)
        values = {item.field_name: item.read(settings) for item in SETTINGS}
        translate(settings, values)
        values["user_agent"] = contact.user_agent(str(values["user_agent"]), str(values["crawler_contact"]))
        values["worker_name"] = values["worker_name"] or own_name()
        values["frontier_backend"] = values["frontier_backend"] or storage.implied(
            lambda name: values[name.lower()]
        )
        return cls(**values)

    def build(self, kind: Callable[..., _T], prefix: str) -> _T:
        """Build a dataclass of the machine, each field of which is the setting with this prefix and its name."""
        names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
        return kind(**{name: getattr(self, f"{prefix}{name}") for name in names})


def check(settings: BaseSettings, given: Iterable[str] = (), known: Iterable[str] = ()) -> list[Problem]:
    """Return all problems of the settings; empty when they are right.

    ``given`` are the names set on the command line: each must be the name of a setting of ours, of Scrapy, of
    scrapy-redis or one of ``known`` (those of the project and the spider), or begin with one of SETTINGS_PREFIXES.
    Other names may be a project's own, unless they misspell one of these settings.
    """
    given = list(given)
    ours = [item.name for item in SETTINGS]
    prefixes = _prefixes(settings)
    problems = list(unknown_names(given, [*ours, *known], prefixes, way_out="write -s +NAME=..., or "))
    problems += misspelt_names(settings, ours, prefixes, given)
    foreign = list(wrong_values(settings))
    problems += foreign
    wrong = [
        Problem(item.name, why) for item in SETTINGS if (why := item.reader.problem(item.value(settings)))
    ]
    problems += wrong
    checked = {*ours, *(problem.name for problem in foreign)}
    problems += wrong_types(settings, [name for name in given if name not in checked])
    broken = {problem.name for problem in wrong}
    read = {item.name: partial(item.read, settings) for item in SETTINGS if item.name not in broken}
    problems += contradictions(read)
    problems += search_contradictions(read)
    problems += processing_contradictions(read)
    problems += metrics_contradictions(read)
    problems += sink_contradictions(read)
    problems += seed_refill_contradictions(read)
    problems += identity_contradictions(read)
    problems += usage_contradictions(read)
    return problems


def _prefixes(settings: BaseSettings) -> tuple[str, ...]:
    """Return SETTINGS_PREFIXES; none if they are wrong, which is another problem."""
    prefixes = next(item for item in SETTINGS if item.name == "SETTINGS_PREFIXES")
    if prefixes.reader.problem(prefixes.value(settings)):
        return ()
    names: tuple[str, ...] = prefixes.read(settings)
    return names
