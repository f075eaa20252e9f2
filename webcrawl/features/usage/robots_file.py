"""What a robots.txt says about use: its lines of the formats, and what it says to other crawlers.

``Content-Usage`` and ``Content-Signal`` are rules of a group, as ``Allow`` is (draft-ietf-aipref-attach-05, section
3): the one with the longest matching path decides, of equal ones the most restrictive; ours are those of the groups
that name us, else those of ``*``. ``License`` (RSL) of our group counts, else one outside of groups. Two readings
are wider than the formats: lines before the first User-agent line are for all, and so is a ``License`` that a blank
line separates from the group before it, as a Sitemap line is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.usage import content_signal, content_usage, rsl, tdmrep
from webcrawl.features.usage.statements import Meaning, Statement, is_withheld, resolve, statement
from webcrawl.robots.rules import PathPattern, RobotsRules, comparable
from webcrawl.robots.text import names_agent, names_everyone, parse_field, split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

RULES_MAX = 500
LICENSES_MAX = 10

_MENTION = re.compile("content-usage|content-signal|licen[cs]e", re.IGNORECASE)
_USAGE_LINE = re.compile(r"\s*(content-usage|content-signal|licen[cs]e)\s*:([^#]*)", re.IGNORECASE)
_READERS: dict[str, tuple[str, Callable[[str], Meaning]]] = {
    "content-usage": (content_usage.NAME, content_usage.parse_meaning),
    "content-signal": (content_signal.NAME, content_signal.parse_meaning),
}

TOKENS: Mapping[str, tuple[str, ...]] = {
    "google-extended": ("train-ai", "ai-input"),
    "applebot-extended": ("train-ai",),
    "oai-searchbot": ("ai-input",),
    "chatgpt-user": ("ai-input",),
    "perplexitybot": ("ai-input",),
    "perplexity-user": ("ai-input",),
    "googlebot": ("search",),
    "bingbot": ("search",),
}
"""The purposes for which product tokens crawl, by their owners' words; ``train-ai`` for all others."""


class UsageRule(NamedTuple):
    """A line ``Content-Usage`` or ``Content-Signal``."""

    path: PathPattern | None
    """None if it has no path: it is for all paths, and less specific than any."""
    statement: Statement


class LicenseLine(NamedTuple):
    """A line ``License``."""

    number: int
    url: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RobotsUsage:
    """What the robots.txt of an origin, and the files that it has beside it, say about use."""

    rules: tuple[tuple[UsageRule, ...], ...] = ()
    """The rules of each of our product tokens."""
    licenses: tuple[LicenseLine, ...] = ()
    tokens: tuple[tuple[str, RobotsRules], ...] = ()
    tdm: tuple[tdmrep.FileRule, ...] = ()
    contents: tuple[rsl.LicensedPath, ...] = ()
    fixed: tuple[Statement, ...] | None = field(default=None)
    """The statements, if they are the same for all paths."""

    @property
    def weight(self) -> int:
        """The number of ordinary rules of a robots.txt that take as much memory."""
        own = sum(map(len, self.rules)) + len(self.licenses) + len(self.tdm) + len(self.contents)
        return own + sum(rules.weight for _, rules in self.tokens)

    def statements(self, url: str) -> tuple[Statement, ...]:
        """Return what is said about a URL."""
        if self.fixed is not None:
            return self.fixed
        target = comparable(url)
        stated = [each for rules in self.rules for each in _most_specific(rules, target)]
        stated += _licenses(self.licenses)
        for token, rules in self.tokens:
            if not rules.allows(url):
                stated.append(_forbidden(token, rules, url))
        stated += tdmrep.in_file(self.tdm, target)
        stated += rsl.in_file(self.contents, target)
        return tuple(dict.fromkeys(stated))

    def refuses(self, url: str, purposes: Collection[str]) -> bool:
        """Return True if it is said already that a URL may not be used for all of ``purposes``."""
        return is_withheld(resolve(self.statements(url)), purposes)


def read(
    text: str,
    agents: Iterable[str],
    tokens: Iterable[str] = (),
    *,
    tdm: str = "",
    licences: Iterable[tuple[str, bytes]] = (),
) -> RobotsUsage | None:
    """Return what a robots.txt says about use to ``agents``, our product tokens; None if it says nothing.

    ``tokens``: product tokens of others, of which a prohibition counts as one of what they crawl for. ``tdm``: the
    text of the tdmrep.json beside it. ``licences``: URL and body of each file that its License lines name.
    Never raises.
    """
    rules: tuple[tuple[UsageRule, ...], ...] = ()
    licenses: tuple[LicenseLine, ...] = ()
    if _MENTION.search(text):
        readings = [_read_for(split_lines(text), agent) for agent in agents]
        rules = tuple(dict.fromkeys(each for each, _ in readings if each))
        licenses = tuple(dict.fromkeys(line for _, lines in readings for line in lines))
    others = tuple((token, RobotsRules(text, token)) for token in tokens) if text else ()
    others = tuple((token, each) for token, each in others if len(each))
    reserved = tdmrep.parse_file(tdm) if tdm else ()
    contents = tuple(content for url, body in licences for content in rsl.parse_file(body, url))
    if not (rules or licenses or others or reserved or contents):
        return None
    fixed = None
    if not others and not reserved and not contents and all(r.path is None for each in rules for r in each):
        fixed = tuple(dict.fromkeys([*(r.statement for each in rules for r in each), *_licenses(licenses)]))
    return RobotsUsage(rules, licenses, others, reserved, contents, fixed)


def _licenses(lines: Iterable[LicenseLine]) -> list[Statement]:
    return [statement(rsl.NAME, f"robots.txt:{line.number}", f"License: {line.url}") for line in lines]


def _forbidden(token: str, rules: RobotsRules, url: str) -> Statement:
    line = rules.line_for(url)
    place = "robots.txt" if line is None else f"robots.txt:{line.line}"
    meaning = tuple((purpose, False) for purpose in TOKENS.get(token.lower(), ("train-ai",)))
    return statement("token", place, f"{token}: {line or 'Disallow'}", meaning)


def _most_specific(rules: Sequence[UsageRule], target: str) -> list[Statement]:
    """Return the statements of the rules with the longest matching path, format by format."""
    best: dict[str, tuple[int, list[Statement]]] = {}
    for path, stated in rules:
        if path is not None and not path.matches(target):
            continue
        length = -1 if path is None else path.length
        known = best.get(stated.format)
        if known is None or length > known[0]:
            best[stated.format] = (length, [stated])
        elif length == known[0]:
            known[1].append(stated)
    return [each for _, found in best.values() for each in found]


@dataclass(slots=True, eq=False)
class _UsageGroup:
    """All groups that name one agent, merged into one."""

    rules: list[UsageRule] = field(default_factory=list)
    licenses: list[LicenseLine] = field(default_factory=list)


class _UsageReader:
    """Goes through the lines of a file and keeps those about use that are for one agent or for ``*``."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._own, self._everyone, self._outside = _UsageGroup(), _UsageGroup(), _UsageGroup()
        self._named = self._in_group = self._in_rules = self._after_blank = False
        self._current: list[_UsageGroup] = []

    def take(self, line: str, number: int) -> None:
        """Take the next line."""
        usage = _USAGE_LINE.match(line)
        if usage is not None:
            self._usage(usage[1].lower(), usage[2].strip(), number)
        elif not line.strip():
            self._after_blank = True
            return
        else:
            kind, value = parse_field(line)
            if kind == "user-agent":
                self._group(value)
            elif kind in ("allow", "disallow"):
                self._in_rules = True
        self._after_blank = False

    def reading(self) -> tuple[tuple[UsageRule, ...], tuple[LicenseLine, ...]]:
        """Return the rules and the licences for the agent."""
        chosen = self._own if self._named else self._everyone
        rules = (*self._outside.rules, *chosen.rules)[:RULES_MAX]
        return rules, tuple(chosen.licenses or self._outside.licenses)[:LICENSES_MAX]

    def _group(self, value: str) -> None:
        if self._in_rules:
            self._current, self._in_rules = [], False
        self._in_group = True
        if names_everyone(value):
            self._current.append(self._everyone)
        elif names_agent(value, self._agent):
            self._current.append(self._own)
            self._named = True

    def _usage(self, kind: str, value: str, number: int) -> None:
        places = self._current if self._in_group else [self._outside]
        if kind not in _READERS:
            if value:
                if self._after_blank:
                    places = [*places, self._outside]
                for place in places:
                    place.licenses.append(LicenseLine(number, value))
            return
        self._in_rules = self._in_group
        name, parse_meaning = _READERS[kind]
        path, preference = None, value
        if value.startswith("/"):
            path, _, preference = value.replace("\t", " ").partition(" ")
        stated = statement(
            name, f"robots.txt:{number}", f"{name}: {value}", parse_meaning(preference.strip())
        )
        for place in places:
            if len(place.rules) < RULES_MAX:
                place.rules.append(UsageRule(None if path is None else PathPattern(path), stated))


def _read_for(lines: Iterable[str], agent: str) -> tuple[tuple[UsageRule, ...], tuple[LicenseLine, ...]]:
    reader = _UsageReader(agent)
    for number, line in enumerate(lines, 1):
        reader.take(line, number)
    return reader.reading()
