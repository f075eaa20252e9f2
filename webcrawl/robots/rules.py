"""The decision if a robots.txt allows a URL (RFC 9309, sections 2.2.2 and 2.2.3), at a bounded cost, and the lines
that decide it. A crawler with several product tokens may fetch what all of them may.

Protego decides. It gets one group, ours, with every rule and every URL in a form for comparison, respelled in
characters that Protego compares literally: its own reading of the others allows some URLs that the RFC does not. A
URL is fetched only if two forms allow it: the RFC's, and the one as written, which is that of Google's matcher.
docs/decisions/0005-politeness.md has the differences and the cost.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from protego import Protego

from webcrawl.robots.spelling import (
    ANY,
    END,
    MAX_PATTERN_LENGTH,
    Spelling,
    as_it_stands,
    as_written,
    path_to_match,
    prepared,
)
from webcrawl.robots.text import (
    RobotsRule,
    longest_delay,
    names_agent,
    names_everyone,
    parse_field,
    read_for_all,
    split_lines,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from webcrawl.politeness.host_record import RobotsRecord


__all__ = ["RULES_PER_ORIGIN", "PathPattern", "RobotsRules", "RulesCache", "comparable", "path_to_match"]

RULES_PER_ORIGIN = 32
"""Rules an origin may have on average in a full cache."""

QUICK_CHARACTERS = 8_192
"""The length of a text that is parsed in about 8 ms whatever its content; half a megabyte takes a third of a
second."""

GOPHER = "gopher://"
"""The beginning of URLs to which rules apply in two forms: to the path, and to the selector in it. No standard says
which of them a robots.txt means, and a URL is fetched only if both are allowed.
"""

_TARGET = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^#]*)", re.DOTALL)


class UsageReading(Protocol):
    """What a robots.txt says about the use of pages (``features.usage.robots_file``)."""

    @property
    def weight(self) -> int:
        """The number of rules that take as much memory."""
        ...

    def statements(self, url: str) -> tuple[Any, ...]:
        """Return what is said about a URL."""
        ...

    def refuses(self, url: str, purposes: Collection[str]) -> bool:
        """Return True if a URL may not be used for all of ``purposes``."""
        ...


class ReadUsage(Protocol):
    """Reads what a robots.txt says about the use of pages, for the crawler with some product tokens."""

    def __call__(self, text: str, agents: tuple[str, ...], /) -> UsageReading | None: ...


class RobotsRules:
    """The rules of one robots.txt for one crawler, ready for queries, in about 400 bytes a rule.

    ``agents`` are the crawler's product tokens, at least one: where they get different answers, the stricter one
    counts. Beyond ``MAX_WILDCARD_RULES`` and ``MAX_WILDCARDS``, and for a pattern
    beyond ``MAX_PATTERN_LENGTH``, in doubt nothing is fetched: a Disallow forbids all paths that begin like it (up to
    the first ``*``, up to that length), an Allow is ignored.
    """

    __slots__ = ("_groups", "crawl_delay_seconds", "sitemaps", "usage")

    def __init__(self, text: str, *agents: str) -> None:
        self.usage: UsageReading | None = None
        """What the text says about use; None if it says nothing, or nobody reads it."""
        readings = read_for_all(text, agents)
        self.crawl_delay_seconds = longest_delay(readings)
        self.sitemaps = readings[0].sitemaps
        self._groups = [
            _ProductGroup(rules) for rules in dict.fromkeys(reading.rules for reading in readings)
        ]

    def __len__(self) -> int:
        return sum(map(len, self._groups))

    @property
    def weight(self) -> int:
        """The number of ordinary rules that take as much memory: the parts between stars and the characters count."""
        usage = 0 if self.usage is None else self.usage.weight
        return usage + sum(group.weight for group in self._groups)

    def allows(self, url: str) -> bool:
        """Return True if an absolute URL (or a path with its query) may be fetched. Never raises."""
        return all(group.allows(url) for group in self._groups)

    def line_for(self, url: str) -> RobotsRule | None:
        """Return the rule that decides: the one with the most octets that matches, Allow before Disallow.

        None if none matches, and for /robots.txt itself. The pattern is in the form in which it was compared. Only
        the rules that agree with ``allows`` are searched for the most specific one.
        """
        forbids = next((group for group in self._groups if not group.allows(url)), None)
        return (forbids or self._groups[0]).line_for(url)


class _ProductGroup:
    """The rules for one product token."""

    __slots__ = ("_by_rfc", "_written")

    def __init__(self, lines: Sequence[RobotsRule]) -> None:
        rules = prepared(lines)
        self._by_rfc = _Form(rules) if rules else None
        written = prepared(lines, as_written)
        # Most files have no rule for which the two forms differ.
        self._written = self._by_rfc if written == rules else _Form(written)

    def __len__(self) -> int:
        return 0 if self._by_rfc is None else len(self._by_rfc)

    @property
    def weight(self) -> int:
        return sum(form.weight for form in {self._by_rfc, self._written} if form is not None)

    def allows(self, url: str) -> bool:
        if not self._allows(_target(url)):
            return False
        return not url.startswith(GOPHER) or self._allows(_selector(url))

    def _allows(self, target: str) -> bool:
        if self._by_rfc is None or self._written is None or target == "/robots.txt":
            return True
        path = path_to_match(target)
        if not self._by_rfc.allows(path):
            return False
        if path == target and self._written is self._by_rfc:
            return True
        return self._written.allows(as_it_stands(target))

    def line_for(self, url: str) -> RobotsRule | None:
        target = _target(url)
        if url.startswith(GOPHER) and self._allows(target) and not self._allows(_selector(url)):
            target = _selector(url)
        if target == "/robots.txt" or self._by_rfc is None or self._written is None:
            return None
        path = path_to_match(target)
        if not self._by_rfc.allows(path):
            return self._by_rfc.line_for(path, allow=False)
        written = as_it_stands(target)
        if not self._written.allows(written):
            return self._written.line_for(written, allow=False)
        return self._by_rfc.line_for(path, allow=True)


class _Form:
    """The rules of one file in one form for comparison."""

    __slots__ = ("_allowing", "_forbidding", "_protego", "_spelling")

    def __init__(self, rules: list[RobotsRule]) -> None:
        self._spelling = Spelling("".join([rule.pattern for rule in rules]))
        self._protego = _to_protego(rules, self._spelling)
        self._allowing = _Listed([rule for rule in rules if rule.allow])
        self._forbidding = _Listed([rule for rule in rules if not rule.allow])

    def __len__(self) -> int:
        return len(self._allowing.lines) + len(self._forbidding.lines)

    @property
    def weight(self) -> int:
        patterns = self._allowing.patterns + self._forbidding.patterns
        return len(self) + patterns.count(ANY) // 8 + len(patterns) // 128

    def allows(self, path: str) -> bool:
        """Return True if a path, in this form, may be fetched."""
        return self._protego.can_fetch(self._spelling.written(path + END), "*")

    def line_for(self, path: str, *, allow: bool) -> RobotsRule | None:
        """Return the most specific rule of a kind that matches a path in this form."""
        listed = self._allowing if allow else self._forbidding
        return listed.first_match(path + END, allow=allow)


class _Listed:
    """The prepared patterns of one kind and their lines, the most specific first."""

    __slots__ = ("lines", "patterns")

    def __init__(self, rules: Iterable[RobotsRule]) -> None:
        ordered = sorted(rules, key=lambda rule: len(rule.pattern), reverse=True)
        self.patterns = "\n".join([rule.pattern for rule in ordered])
        self.lines = array("I", [rule.line for rule in ordered])

    def first_match(self, target: str, *, allow: bool) -> RobotsRule | None:
        for pattern, line in zip(self.patterns.split("\n"), self.lines, strict=False):
            if _matches(pattern, target):
                return RobotsRule(allow, pattern.replace(ANY, "*").replace(END, "$"), line)
        return None


def _matches(pattern: str, target: str) -> bool:
    """Return True if a prepared pattern matches: each literal part is matched at its first occurrence."""
    head, *parts = pattern.split(ANY)
    if not target.startswith(head):
        return False
    position = len(head)
    for part in parts:
        start = target.find(part, position)
        if start < 0:
            return False
        position = start + len(part)
    return True


def _to_protego(rules: Iterable[RobotsRule], spelling: Spelling) -> Protego:
    lines = [f"{'Allow' if rule.allow else 'Disallow'}: {spelling.written(rule.pattern)}" for rule in rules]
    return Protego.parse("\n".join(["User-agent: *", *lines]))


class PathPattern:
    """A path as rules of a robots.txt have it, with ``*`` and ``$``, in the RFC's form for comparison."""

    __slots__ = ("_pattern", "length")

    def __init__(self, pattern: str) -> None:
        """A pattern longer than ``MAX_PATTERN_LENGTH`` matches all paths that begin like it."""
        rule = RobotsRule(True, pattern[: MAX_PATTERN_LENGTH // 3], 0)
        self._pattern = prepared([rule])[0].pattern
        self.length = len(self._pattern)
        """By the number of its octets a pattern is more specific than another one."""

    def matches(self, target: str) -> bool:
        """Return True if it matches a path, in the form of ``comparable``."""
        return _matches(self._pattern, target)


def comparable(url: str) -> str:
    """Return path and query of a URL in the form in which a ``PathPattern`` is compared with them."""
    return path_to_match(_target(url)) + END


class RulesCache:
    """The parsed rules of the origins that were used last, one version of each.

    Holds at most ``size`` origins and a weight of ``size * RULES_PER_ORIGIN``, so that a few sites with enormous
    files cannot fill the memory. Not for use by several threads at a time.
    """

    def __init__(
        self,
        size: int,
        *agents: str,
        read_usage: ReadUsage | None = None,
    ) -> None:
        """``read_usage``: called with each text that is parsed, and the product tokens; None if the crawl does not
        record what pages may be used for."""
        self.agents = agents
        """The crawler's product tokens."""
        self._read_usage = read_usage
        self._known = frozenset(agent.lower() for agent in agents)
        self._size = max(1, size)
        self._held: OrderedDict[str, tuple[_Version, RobotsRules]] = OrderedDict()
        self._weight = 0
        self._no_rules = RobotsRules("", *agents)
        self.hits = self.misses = 0
        """The numbers of times that the rules of a text were held, and that they were parsed."""

    @property
    def size(self) -> int:
        """The largest number of origins."""
        return self._size

    def __len__(self) -> int:
        return len(self._held)

    def rules(self, record: RobotsRecord, agent: str | None = None) -> RobotsRules:
        """Return the rules of a record's text, parsed if this version of it is not held.

        ``agent`` is a further product token, of a request with a User-Agent of its own.
        """
        if not record.text:
            return self._no_rules
        name = self._name(record, agent)
        held = self._held.get(name)
        if held is not None and held[0] == _version(record):
            self._held.move_to_end(name)
            self.hits += 1
            return held[1]
        self.misses += 1
        rules = self.parsed(record, agent)
        self.hold(record, rules, agent)
        return rules

    def is_quick(self, record: RobotsRecord, agent: str | None = None) -> bool:
        """Return True if ``rules`` takes a few milliseconds at most."""
        held = self._held.get(self._name(record, agent))
        return len(record.text) <= QUICK_CHARACTERS or (held is not None and held[0] == _version(record))

    def parsed(self, record: RobotsRecord, agent: str | None = None) -> RobotsRules:
        """Return the rules of a record's text, parsed now and not held: for another thread, if that takes long."""
        agents = (*self.agents, *(() if agent is None else (agent,)))
        rules = RobotsRules(record.text, *agents)
        if self._read_usage is not None:
            rules.usage = self._read_usage(record.text, agents)
        return rules

    def usage(self, record: RobotsRecord, agent: str | None = None) -> UsageReading | None:
        """Return what a record's text says about use; None if it says nothing, or its rules are not held."""
        held = self._held.get(self._name(record, agent))
        return held[1].usage if held is not None and held[0] == _version(record) else None

    def hold(self, record: RobotsRecord, rules: RobotsRules, agent: str | None = None) -> None:
        """Keep parsed rules."""
        name = self._name(record, agent)
        if name in self._held:
            self._drop(name)
        self._held[name] = (_version(record), rules)
        self._weight += rules.weight
        while len(self._held) > 1 and self._is_too_large():
            self._drop(next(iter(self._held)))

    def _name(self, record: RobotsRecord, agent: str | None) -> str:
        """Return the name under which rules are held: the origin, with a product token that is not the crawl's."""
        if agent is None or agent.lower() in self._known:
            return record.origin
        return f"{record.origin} {agent.lower()}"

    def _is_too_large(self) -> bool:
        return len(self._held) > self._size or self._weight > self._size * RULES_PER_ORIGIN

    def _drop(self, name: str) -> None:
        self._weight -= self._held.pop(name)[1].weight


_Version = tuple[float, int]


def _version(record: RobotsRecord) -> _Version:
    """Return what tells two texts of an origin apart: files that are stored behind one make it longer."""
    return record.fetched_at, len(record.text)


def _target(url: str) -> str:
    """Return the path and query of a URL, as rules see it."""
    match = _TARGET.match(url)
    target = match[1] if match else ""
    return target if target.startswith("/") else "/" + target


def _selector(url: str) -> str:
    """Return the selector of a Gopher URL, without the item type that comes before it in the path."""
    target = _target(url)
    return "/" + target[2:].removeprefix("/")


@dataclass(frozen=True, slots=True)
class RobotsLine:
    """A line as it was written, without its end; ``number`` counts from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Deciding:
    """The decision and its source. ``rule`` is None if no rule of ours matches: then all is allowed."""

    allowed: bool
    rule: RobotsLine | None = None
    group: tuple[RobotsLine, ...] = ()
    """The User-agent lines by which the rule is one of ours."""


def deciding(text: str, url: str, *agents: str) -> Deciding:
    """Return the decision of a robots.txt for product tokens about a URL, with the lines. Never raises.

    The text is parsed anew: for a single question, not for each page.
    """
    rules = RobotsRules(text, *agents)
    allowed, rule = rules.allows(url), rules.line_for(url)
    if rule is None:
        return Deciding(allowed)
    lines = split_lines(text)
    return Deciding(
        allowed, RobotsLine(rule.line, lines[rule.line - 1]), _group_lines(lines, rule.line, agents)
    )


def _group_lines(lines: list[str], rule_line: int, agents: Sequence[str]) -> tuple[RobotsLine, ...]:
    """Return the User-agent lines above a rule of ours that concern us: those that name us, if any line does."""
    own: list[RobotsLine] = []
    everyone: list[RobotsLine] = []
    in_rules = False
    for number, text in enumerate(lines[: rule_line - 1], 1):
        kind, value = parse_field(text)
        if kind in ("allow", "disallow"):
            in_rules = True
        elif kind == "user-agent":
            if in_rules:
                own, everyone, in_rules = [], [], False
            if names_everyone(value):
                everyone.append(RobotsLine(number, text))
            elif any(names_agent(value, agent) for agent in agents):
                own.append(RobotsLine(number, text))
    return tuple(own or everyone)
