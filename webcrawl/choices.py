"""What an operator chooses by settings of which URLs are followed, and of which count as the same."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.readers import CANONICAL_RULES
from webcrawl.scope.listed import ListedRule, UnlistedRule
from webcrawl.scope.patterns import Patterns, PatternsError, load_patterns
from webcrawl.scope.port import PortRule
from webcrawl.scope.repeats import RepeatsRule
from webcrawl.scope.segments import SegmentsRule
from webcrawl.scope.top_level import TopLevelRule
from webcrawl.urls.canonical import CanonicalRules
from webcrawl.urls.host_rules import HostRulesError, load_host_rules
from webcrawl.urls.politeness_key import PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.configuration import Configuration
    from webcrawl.scope.patterns import Pattern
    from webcrawl.scope.rule import Rule

USELESS_PATHS = Path(__file__).parent / "scope" / "useless_paths.txt"


def list_files(configuration: Configuration) -> dict[str, Path]:
    """The files of expressions that are in force, by the names of their settings."""
    files = {
        "DENY_FILE": configuration.deny_file,
        "USELESS_PATHS_FILE": configuration.useless_paths_file or USELESS_PATHS,
        "ALLOW_FILE": configuration.allow_file,
    }
    return {name: path for name, path in files.items() if path is not None}


def wrong_files(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Settings whose files are wrong, with a line on each mistake."""
    for name, path in list_files(configuration).items():
        try:
            load_patterns(path)
        except PatternsError as error:
            for line in str(error).splitlines():
                yield name, line
    if configuration.host_rules_file is not None:
        try:
            load_host_rules(configuration.host_rules_file)
        except HostRulesError as error:
            for line in str(error).splitlines():
                yield "HOST_RULES_FILE", line


def chosen_rules(configuration: Configuration) -> list[Rule]:
    """What is asked about every link that is followed, what costs least first. :raises PatternsError:"""
    rules: list[Rule] = []
    if configuration.ports_allowed:
        rules.append(PortRule(configuration.ports_allowed))
    if configuration.path_segments_max:
        rules.append(SegmentsRule(configuration.path_segments_max))
    if configuration.path_repeats_max:
        rules.append(RepeatsRule(configuration.path_repeats_max))
    if configuration.top_level_domains:
        rules.append(TopLevelRule(configuration.top_level_domains))
    expressions = {name: load_patterns(path) for name, path in list_files(configuration).items()}
    for name, rule_name in (("USELESS_PATHS_FILE", "useless-path"), ("DENY_FILE", "deny")):
        if found := expressions.get(name):
            rules.append(ListedRule(rule_name, Patterns(found)))
    if "ALLOW_FILE" in expressions:
        rules.append(UnlistedRule(Patterns(expressions["ALLOW_FILE"])))
    return rules


def expressions_of(configuration: Configuration, name: str) -> list[str]:
    """The expressions of a list that is in force, as they stand in its file. :raises PatternsError:"""
    path = list_files(configuration).get(name)
    patterns: list[Pattern] = [] if path is None else load_patterns(path)
    return [pattern.text for pattern in patterns]


def canonical_rules(configuration: Configuration) -> CanonicalRules:
    """Which differences between URLs do not count. :raises HostRulesError:"""
    path = configuration.host_rules_file
    chosen = {name: name in configuration.canonical_rules for name in CANONICAL_RULES}
    return CanonicalRules(**chosen, hosts=None if path is None else load_host_rules(path))


def politeness_key(
    configuration: Configuration, rules: CanonicalRules, mode: str | None = None
) -> PolitenessKey:
    """What URLs share a queue and a clock: hosts that are one site do, since URLs are compared within a queue."""
    known_as = None if rules.hosts is None else rules.hosts.known_as
    return PolitenessKey(mode or configuration.politeness_key, known_as)  # type: ignore[arg-type]


def told_of(rules: CanonicalRules) -> dict[str, str]:
    """The rules as a crawl remembers them, since with others it would not know what it has seen."""
    hosts = () if rules.hosts is None else rules.hosts.rules
    lines = "\n".join(" ".join(rule) for rule in hosts)
    return {
        "CANONICAL_RULES": ",".join(name for name in CANONICAL_RULES if getattr(rules, name)) or "none",
        "HOST_RULES_FILE": hashlib.sha256(lines.encode()).hexdigest()[:12] if lines else "none",
    }
