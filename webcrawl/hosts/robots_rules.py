"""Whether a robots.txt lets a URL be fetched (RFC 9309, sections 2.2.2 and 2.2.3), at a bounded cost.

Protego decides. It is given one group, ours, and both its rules and the URL are spelled so that it compares
octets and nothing else: each octet of the normalised path is two hexadecimal digits and a dash. Its own
normalisation counts ``?`` as three octets when it looks for the most specific rule, takes ``%3F`` for ``?``
and one broken UTF-8 sequence for another, lets ``$`` also match itself and ``/index.html`` also allow ``/``;
none of that is in the RFC, and some of it is permissive. docs/decisions/0005-politeness.md has the figures.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING

from protego import Protego

from webcrawl.hosts.robots_text import Rule, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webcrawl.hosts.record import RobotsRecord

MAX_WILDCARD_RULES = 1_000
"""Rules with ``*`` that are matched as written; each costs about 0.3 us a check, 25 us with a hostile URL."""

RULES_PER_ORIGIN = 64
"""Rules an origin is expected to have, at most on average over a full cache."""

_ALL = "*"
_END = "zz-"
_WILDCARD = "***"

_TARGET = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^#]*)", re.DOTALL)
_URI_CHARACTERS = rb"!$&-;=?-Z\[\]_a-z~"
_NORMAL = re.compile(f"[{_URI_CHARACTERS.decode()}]*").fullmatch
_TO_NORMALISE = re.compile(rb"%[0-9A-Fa-f]{2}|[^" + _URI_CHARACTERS + rb"]")
_IS_URI_CHARACTER = re.compile(b"[" + _URI_CHARACTERS + b"]").fullmatch
_ESCAPED_DELIMITER = re.compile("%(?:2F|3F)", re.IGNORECASE)


class RobotsRules:
    """What one robots.txt allows one crawler, ready to be asked.

    ``agent`` is the crawler's product token. Beyond ``MAX_WILDCARD_RULES`` a Disallow with ``*`` forbids all
    that begins like it up to its first ``*``, and an Allow with ``*`` is not heard: doubt means no.
    """

    __slots__ = ("_matcher", "crawl_delay_seconds", "rules", "sitemaps")

    def __init__(self, text: str, agent: str) -> None:
        reading = read(text, agent)
        self.rules = _bounded(reading.rules)
        """The rules in force, in the order of the file."""
        self.crawl_delay_seconds = reading.crawl_delay_seconds
        self.sitemaps = reading.sitemaps
        self._matcher = _matcher(self.rules) if self.rules else None

    def allows(self, url: str) -> bool:
        """Whether an absolute URL (or a path with its query) may be fetched. Never raises."""
        target = _target(url)
        if self._matcher is None or target == "/robots.txt":
            return True
        return self._matcher.can_fetch(_spelled_target(target), _ALL)

    def line_for(self, url: str) -> Rule | None:
        """The rule that decides on ``url``, None if none does. For explanations: it costs 10 us a rule."""
        target = _target(url)
        if target == "/robots.txt":
            return None
        spelled = _spelled_target(target)
        matching = [
            rule for rule in self.rules if not _matcher([rule], all_forbid=True).can_fetch(spelled, _ALL)
        ]
        return max(matching, key=lambda rule: (len(_spelled_pattern(rule.pattern)), rule.allow), default=None)


class RulesCache:
    """The parsed rules of the origins that were asked for last, one version of each.

    Holds at most ``size`` origins and ``size * RULES_PER_ORIGIN`` rules, so that a few sites with enormous
    files cannot fill the memory. Not for use by several threads at a time.
    """

    def __init__(self, size: int, agent: str) -> None:
        self.agent = agent
        """The crawler's product token."""
        self._size = max(1, size)
        self._held: OrderedDict[str, tuple[float, RobotsRules]] = OrderedDict()
        self._weight = 0
        self._no_rules = RobotsRules("", agent)

    def __len__(self) -> int:
        return len(self._held)

    def rules(self, record: RobotsRecord) -> RobotsRules:
        """The rules of a record's text, parsed if this version of it is not held."""
        if not record.text:
            return self._no_rules
        held = self._held.get(record.origin)
        if held is not None and held[0] == record.fetched_at:
            self._held.move_to_end(record.origin)
            return held[1]
        rules = RobotsRules(record.text, self.agent)
        if held is not None:
            self._drop(record.origin)
        self._held[record.origin] = (record.fetched_at, rules)
        self._weight += len(rules.rules)
        while len(self._held) > 1 and self._is_too_large():
            self._drop(next(iter(self._held)))
        return rules

    def _is_too_large(self) -> bool:
        return len(self._held) > self._size or self._weight > self._size * RULES_PER_ORIGIN

    def _drop(self, origin: str) -> None:
        self._weight -= len(self._held.pop(origin)[1].rules)


def path_to_match(path: str) -> str:
    """The form in which a path and a rule are compared (RFC 9309, section 2.2.2), in ASCII.

    Octets that no URI has as they are are percent-encoded, with capital digits; percent-encoded octets that a
    URI can have are decoded, except ``%2F`` and ``%3F`` in front of the query, where they are not the
    delimiters they stand for. (The RFC's table encodes ``://`` in a query where this decodes ``%3A%2F%2F``:
    the comparison is the same, and a rule ``/*/private`` still finds its slash.)
    """
    if _NORMAL(path):
        return path
    head, mark, query = path.partition("?")
    return _normalised(head, _in_path) + mark + _normalised(query, _in_query)


def _normalised(text: str, spelling: Callable[[re.Match[bytes]], bytes]) -> str:
    return _TO_NORMALISE.sub(spelling, text.encode("utf-8", "surrogatepass")).decode("ascii")


def _in_query(match: re.Match[bytes]) -> bytes:
    found = match[0]
    octet = bytes([int(found[1:], 16)]) if len(found) == 3 else found
    return octet if _IS_URI_CHARACTER(octet) else b"%%%02X" % octet[0]


def _in_path(match: re.Match[bytes]) -> bytes:
    octet = _in_query(match)
    return match[0].upper() if octet in (b"/", b"?") else octet


def _target(url: str) -> str:
    """The path and query of a URL, as rules see it."""
    found = _TARGET.match(url)
    target = found[1] if found else ""
    return target if target.startswith("/") else "/" + target


def _spelled(text: str) -> str:
    return text.encode("ascii").hex("-") + "-" if text else ""


def _spelled_target(target: str) -> str:
    return f"/{_spelled(path_to_match(target))}{_END}"


def _spellings(rule: Rule) -> list[str]:
    """A rule's pattern as the matcher is to see it.

    What follows a ``*`` may stand for a part of the path or of the query, in which ``%2F`` and ``%3F`` are not the
    same: a Disallow with such an escape there forbids both.
    """
    path = rule.pattern.partition("?")[0]
    _, star, rest = path.partition("*")
    if star and not rule.allow and _ESCAPED_DELIMITER.search(rest):
        return [_spelled_pattern(rule.pattern), _spelled_pattern(rule.pattern, query_at_star=True)]
    return [_spelled_pattern(rule.pattern)]


def _spelled_pattern(pattern: str, *, query_at_star: bool = False) -> str:
    parts = []
    in_query = False
    for part in pattern.removesuffix("$").split("*"):
        parts.append(_spelled(path_to_match("?" + part)[1:] if in_query else path_to_match(part)))
        in_query = in_query or query_at_star or "?" in part
    return "/" + _WILDCARD.join(parts) + (_END if pattern.endswith("$") else "")


def _matcher(rules: Iterable[Rule], *, all_forbid: bool = False) -> Protego:
    lines = ["User-agent: *"]
    for rule in rules:
        field = "Allow" if rule.allow and not all_forbid else "Disallow"
        lines += [f"{field}: {spelled}" for spelled in _spellings(rule)]
    return Protego.parse("\n".join(lines))


def _bounded(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    kept: list[Rule] = []
    wildcards = 0
    for rule in rules:
        wildcards += "*" in rule.pattern
        if "*" not in rule.pattern or wildcards <= MAX_WILDCARD_RULES:
            kept.append(rule)
        elif not rule.allow:
            kept.append(rule._replace(pattern=rule.pattern.partition("*")[0] or "/"))
    return tuple(kept)
