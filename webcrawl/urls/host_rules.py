"""Rules for hosts that are one site under several names, from a file: for comparison, never for fetching.

A line replaces the end, the beginning or the whole of a host's name::

    startsWith www.                     the name without it
    startsWith www2. www.               or with another beginning
    endsWith   .example.net .example.org
    synonym    mirror.example.com example.org

All rules of the first kind are tried before those of the second, and those before synonyms, each kind in the order of
the file, and the first that matches is applied. The rules are applied to the result again, until it does not change.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.urls.lists import WrongLine, printable, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KINDS = ("startsWith", "endsWith", "synonym")
REMEMBERED_HOSTS = 65_536
LONGEST_NAME = 253
"""The longest name of a host in the DNS; it also ends rules that would make a name longer and longer."""

_PART = re.compile(r"[a-z0-9_.-]{1,253}")


class HostRulesError(ValueError):
    """A file of host rules cannot be read or has wrong lines; the message names the file and each of them."""


class HostRule(NamedTuple):
    """One line: its kind, the text that it matches, and the replacement."""

    kind: str
    found: str
    instead: str

    def apply(self, host: str) -> str:
        """Return the host's other name; the same one if the rule does not match, or would leave an empty or too long
        name.
        """
        name = host
        if self.kind == "startsWith" and host.startswith(self.found):
            name = self.instead + host[len(self.found) :]
        elif self.kind == "endsWith" and host.endswith(self.found):
            name = host[: len(host) - len(self.found)] + self.instead
        elif self.kind == "synonym" and host == self.found:
            name = self.instead
        return name if 0 < len(name) <= LONGEST_NAME else host


class HostRules:
    """Returns the name under which a host is known."""

    def __init__(self, rules: Iterable[HostRule] = ()) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: KINDS.index(rule.kind)))
        self.known_as = lru_cache(REMEMBERED_HOSTS)(self._known_as)

    def steps(self, host: str) -> list[tuple[HostRule, str]]:
        """Return each rule that is applied, with the resulting name. Ends when a name is repeated."""
        done: list[tuple[HostRule, str]] = []
        seen = {host}
        while (step := self._step(host)) is not None and step[1] not in seen:
            done.append(step)
            host = step[1]
            seen.add(host)
        return done

    def _known_as(self, host: str) -> str:
        names = [host, *(name for _, name in self.steps(host))]
        last = self._step(names[-1])
        # Rules in a cycle: all names in it are known as one of them, whichever comes first.
        return names[-1] if last is None else min(names[names.index(last[1]) :])

    def _step(self, host: str) -> tuple[HostRule, str] | None:
        for rule in self.rules:
            name = rule.apply(host)
            if name != host:
                return rule, name
        return None


def load_host_rules(path: Path) -> HostRules:
    """Return the rules of a list file. :raises HostRulesError: with every line that is wrong"""
    rules, wrong = [], []
    try:
        with path.open("rb") as stream:
            for number, text, _ in read_lines(stream):
                rule = _rule(text)
                if isinstance(rule, HostRule):
                    rules.append(rule)
                else:
                    wrong.append(str(WrongLine(number, printable(text), rule)))
    except OSError as error:
        raise HostRulesError(f"{path} cannot be read: {error.strerror or error}") from error
    if wrong:
        raise HostRulesError("\n".join(f"{path}: {line}" for line in wrong))
    return HostRules(rules)


def _rule(text: str) -> HostRule | str:
    """Return the rule in a line, or the error in it."""
    kind, *parts = text.split()
    kinds = {known.lower(): known for known in KINDS}
    if kind.lower() not in kinds:
        return f"must begin with {', '.join(KINDS[:-1])} or {KINDS[-1]}"
    kind = kinds[kind.lower()]
    least = 2 if kind == "synonym" else 1
    if not least <= len(parts) <= 2:
        wanted = "two names" if least == 2 else "what to look for, and what to put in its place if anything"
        return f"{kind} wants {wanted}"
    parts = [part.lower() for part in parts]
    if not all(map(_PART.fullmatch, parts)):
        return "names of hosts are letters, digits, dots and hyphens (others in their xn-- form)"
    return HostRule(kind, parts[0], parts[1] if len(parts) == 2 else "")
