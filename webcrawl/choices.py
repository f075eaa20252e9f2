"""The rules of scope that an operator chooses by settings: lists of expressions, domains, ports, depth of paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.scope.listed import ListedRule, UnlistedRule
from webcrawl.scope.patterns import Patterns, PatternsError, load_patterns
from webcrawl.scope.port import PortRule
from webcrawl.scope.segments import SegmentsRule
from webcrawl.scope.top_level import TopLevelRule

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


def chosen_rules(configuration: Configuration) -> list[Rule]:
    """What is asked about every link that is followed, what costs least first. :raises PatternsError:"""
    rules: list[Rule] = []
    if configuration.ports_allowed:
        rules.append(PortRule(configuration.ports_allowed))
    if configuration.path_segments_max:
        rules.append(SegmentsRule(configuration.path_segments_max))
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
