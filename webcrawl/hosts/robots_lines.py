"""Which lines of a robots.txt decide about a URL: the rule and the group it stands in, as they were written."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.hosts.robots_rules import RobotsRules
from webcrawl.hosts.robots_text import field_of, lines_of, names_agent, names_everyone


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was written, without its end; ``number`` counts from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Deciding:
    """What decided. ``rule`` is None when no rule of ours matches: then all is allowed."""

    allowed: bool
    rule: Line | None = None
    group: tuple[Line, ...] = ()
    """The User-agent lines by which the rule is one of ours."""


def deciding(text: str, agent: str, url: str) -> Deciding:
    """Return what a robots.txt says to ``agent``, a product token, about a URL, and where. Never raises.

    The text is parsed anew: for a single question, not for each page.
    """
    rules = RobotsRules(text, agent)
    allowed, rule = rules.allows(url), rules.line_for(url)
    if rule is None:
        return Deciding(allowed)
    lines = lines_of(text)
    return Deciding(allowed, Line(rule.line, lines[rule.line - 1]), _group_of(lines, rule.line, agent))


def _group_of(lines: list[str], rule_line: int, agent: str) -> tuple[Line, ...]:
    """The User-agent lines above a rule of ours that concern us: those that name us, if any line does."""
    own: list[Line] = []
    everyone: list[Line] = []
    in_rules = False
    for number, text in enumerate(lines[: rule_line - 1], 1):
        kind, value = field_of(text)
        if kind in ("allow", "disallow"):
            in_rules = True
        elif kind == "user-agent":
            if in_rules:
                own, everyone, in_rules = [], [], False
            if names_everyone(value):
                everyone.append(Line(number, text))
            elif names_agent(value, agent):
                own.append(Line(number, text))
    return tuple(own or everyone)
