"""The rules that an operator chooses by settings: politeness, the URLs that are followed, the URLs that count as the
same."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

from webcrawl.config import defaults
from webcrawl.parsing.mime import unwanted
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.groups import NO_GROUPS, GroupsError, load_groups
from webcrawl.politeness.hours import FetchHours, HoursError, load_site_hours
from webcrawl.politeness.shared_clocks import SharedClocks
from webcrawl.processing.contract import load
from webcrawl.scope.patterns import ListedRule, Patterns, PatternsError, UnlistedRule, load_patterns
from webcrawl.scope.port import PortRule
from webcrawl.scope.url_rules import (
    DOCUMENT_TYPES,
    USELESS_EXTENSIONS,
    RepeatsRule,
    SegmentsRule,
    TopLevelRule,
)
from webcrawl.urls.canonical import SWITCHES, CanonicalRules
from webcrawl.urls.host_rules import HostRulesError, load_host_rules
from webcrawl.urls.politeness_key import PolitenessKey, registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.resources.abc import Traversable

    from webcrawl.config import Configuration
    from webcrawl.scope.scope import Rule

_OF_TYPES = "mime:"
"""The beginning of a focus on documents of some types."""
USELESS_PATHS = resources.files("webcrawl.scope") / "useless_paths.txt"


def wrong_files(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Yield the settings whose files are wrong, with a line on each mistake."""
    for name, path in _files(configuration).items():
        try:
            Patterns(load_patterns(path))
        except PatternsError as error:
            yield from ((name, line) for line in str(error).splitlines())
    if configuration.host_rules_file is not None:
        try:
            load_host_rules(configuration.host_rules_file)
        except HostRulesError as error:
            yield from (("HOST_RULES_FILE", line) for line in str(error).splitlines())
    if configuration.politeness_groups_file is not None:
        try:
            load_groups(configuration.politeness_groups_file)
        except GroupsError as error:
            yield from (("POLITENESS_GROUPS_FILE", line) for line in str(error).splitlines())
    if configuration.politeness_hours_file is not None:
        try:
            load_site_hours(configuration.politeness_hours_file, str)
        except HoursError as error:
            yield from (("POLITENESS_HOURS_FILE", line) for line in str(error).splitlines())


def extensions_refused(configuration: Configuration, spider: object) -> tuple[str, ...]:
    """Return the extensions of URLs that are not requested: EXTENSIONS_REFUSED; if it is not set, those of documents
    too that nothing in this crawl reads.
    """
    refused = configuration.extensions_refused
    if set(refused) != set(USELESS_EXTENSIONS):
        return refused
    sought = str(getattr(spider, "focus", None) or configuration.focus or "")
    by_focus = sought.removeprefix(_OF_TYPES).split(",") if sought.startswith(_OF_TYPES) else []
    wanted = configuration.mime_types_wanted
    # The text types of the default are there for pages, whatever their names; other documents are for modules.
    is_default = set(wanted) == set(defaults()["MIME_TYPES_WANTED"])
    by_modules = [mime for path in configuration.processing_modules for mime in load(path).mime_types]

    def is_read(mime: str) -> bool:
        read = not unwanted(mime, wanted) and not (is_default and unwanted(mime, by_modules))
        return read or not unwanted(mime, by_focus)

    return (*refused, *(name for name, types in DOCUMENT_TYPES.items() if not any(map(is_read, types))))


class CrawlRules:
    """The rules of one crawl, with the files that they name read once."""

    def __init__(self, configuration: Configuration) -> None:
        """:raises PatternsError: :raises HostRulesError: :raises GroupsError: a file is wrong"""
        self._configuration = configuration
        path = configuration.host_rules_file
        self.compared = CanonicalRules(
            **{name: name in configuration.canonical_rules for name in SWITCHES},
            hosts=None if path is None else load_host_rules(path),
        )
        """The differences between URLs that do not count."""
        self.shared_clocks = build_shared_clocks(configuration)
        self.expressions = {name: load_patterns(path) for name, path in _files(configuration).items()}
        """The lists of expressions that are in force, by the names of their settings."""

    def rules(self) -> list[Rule]:
        """Return the rules for every link that is followed, cheapest first."""
        configuration = self._configuration
        rules: list[Rule] = []
        if configuration.ports_allowed:
            rules.append(PortRule(configuration.ports_allowed))
        if configuration.path_segments_max:
            rules.append(SegmentsRule(configuration.path_segments_max))
        if configuration.path_repeats_max:
            rules.append(RepeatsRule(configuration.path_repeats_max))
        if configuration.top_level_domains:
            rules.append(TopLevelRule(configuration.top_level_domains))
        for name, rule_name in (("USELESS_PATHS_FILE", "useless-path"), ("DENY_FILE", "deny")):
            if expressions := self.expressions.get(name):
                rules.append(ListedRule(rule_name, Patterns(expressions)))
        if "ALLOW_FILE" in self.expressions:
            rules.append(UnlistedRule(Patterns(self.expressions["ALLOW_FILE"])))
        return rules

    def politeness_key(self, mode: str | None = None) -> PolitenessKey:
        """Return the key by which URLs share a queue and a clock: hosts that are one site do, since URLs are compared
        within a queue."""
        hosts = self.compared.hosts
        return PolitenessKey(
            mode or self._configuration.politeness_key,  # type: ignore[arg-type]
            None if hosts is None else hosts.known_as,
        )

    def comparison(self) -> dict[str, str]:
        """Return the comparison of URLs as a crawl stores it: under other rules it would not know which URLs it has
        seen."""
        hosts = () if self.compared.hosts is None else self.compared.hosts.rules
        return {
            "CANONICAL_RULES": ",".join(name for name in SWITCHES if getattr(self.compared, name)) or "none",
            "HOST_RULES_FILE": list_digest(" ".join(rule) for rule in hosts),
        }


def build_politeness(configuration: Configuration, key: PolitenessKey | None = None) -> Politeness:
    """Return the delays between two requests to a site; without ``key`` the minima of all sites alone."""
    politeness = configuration.build(Politeness, "politeness_")
    delays: dict[str, float] = {}
    if key is not None:
        for host, seconds in politeness.slot_delays.items():
            site = key.of_host(host)
            delays[site] = max(seconds, delays.get(site, 0.0))
    return replace(politeness, slot_delays=delays)


def build_hours(configuration: Configuration, key: PolitenessKey) -> FetchHours:
    """Return the hours of the crawl and of single sites. :raises HoursError: the file of sites is wrong"""
    path = configuration.politeness_hours_file
    sites = {} if path is None else load_site_hours(path, key.of_host)
    return FetchHours(configuration.politeness_hours, sites)


def build_shared_clocks(configuration: Configuration) -> SharedClocks:
    """Return the clocks that sites share. :raises GroupsError: the file of groups is wrong"""
    path = configuration.politeness_groups_file
    return SharedClocks(
        configuration.politeness_address_delay,
        configuration.politeness_domain_delay,
        configuration.politeness_host_delay,
        NO_GROUPS if path is None else load_groups(path),
        registrable_domain,
        configuration.service_clocks is not None,
    )


def list_digest(lines: Iterable[str]) -> str:
    """Return twelve hexadecimal digits that stand for a list; ``none`` for an empty one."""
    text = "\n".join(lines)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "none"


def _files(configuration: Configuration) -> dict[str, Traversable]:
    """Return the files of expressions that are in force, by the names of their settings."""
    files = {
        "DENY_FILE": configuration.deny_file,
        "USELESS_PATHS_FILE": configuration.useless_paths_file or USELESS_PATHS,
        "ALLOW_FILE": configuration.allow_file,
    }
    return {name: path for name, path in files.items() if path is not None}
