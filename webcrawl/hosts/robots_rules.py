"""Whether a robots.txt lets a URL be fetched (RFC 9309, sections 2.2.2 and 2.2.3), at a bounded cost.

docs/decisions/0005-politeness.md says why this is not left to Protego: by its own normalisation it lets some
URLs through that the RFC and Google's matcher do not, and the parsed files of 20,000 active hosts would take
400 MB.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING

from webcrawl.hosts.robots_text import Rule, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webcrawl.hosts.record import RobotsRecord

MAX_WILDCARD_RULES = 2_000
"""Rules with a ``*`` inside that are matched as written. Each costs a check 0.4 us, 7 with a hostile URL."""

MAX_PATTERN_LENGTH = 8_192

RULES_PER_ORIGIN = 64
"""Rules an origin may have on average in a full cache."""

_ANY = "\1"
_END = "\2"

_TARGET = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^#]*)", re.DOTALL)
_ESCAPED_DELIMITER = re.compile("%(?:2F|3F)", re.IGNORECASE)

_URI_CHARACTERS = "!$&-;=?-Z\\[\\]_a-z~"
_NORMAL = re.compile(f"[{_URI_CHARACTERS}]*").fullmatch
_TO_NORMALISE = re.compile(f"%[0-9A-Fa-f]{{2}}|[^{_URI_CHARACTERS}]".encode())


class RobotsRules:
    """What one robots.txt allows one crawler, ready to be asked, in about 80 bytes a rule.

    ``agent`` is the crawler's product token. Beyond ``MAX_WILDCARD_RULES``, and for a pattern beyond
    ``MAX_PATTERN_LENGTH``, doubt means no: a Disallow forbids all that begins like it (up to the first ``*``,
    up to that length), an Allow is not heard.
    """

    __slots__ = ("_plain", "_wild", "crawl_delay_seconds", "sitemaps")

    def __init__(self, text: str, agent: str) -> None:
        reading = read(text, agent)
        self.crawl_delay_seconds = reading.crawl_delay_seconds
        self.sitemaps = reading.sitemaps
        spelled = _spelled(reading.rules)
        self._plain = _Ranked(rule for rule in spelled if _ANY not in rule[0])
        self._wild = _Ranked(rule for rule in spelled if _ANY in rule[0])

    def __len__(self) -> int:
        return len(self._plain.patterns) + len(self._wild.patterns)

    def allows(self, url: str) -> bool:
        """Whether an absolute URL (or a path with its query) may be fetched. Never raises."""
        decisive = self.line_for(url)
        return decisive is None or decisive.allow

    def line_for(self, url: str) -> Rule | None:
        """The rule that decides: the one with the most octets that matches, Allow before Disallow.

        None if none matches, and for /robots.txt itself. The pattern is in the form it was compared in.
        """
        target = _target(url)
        if target == "/robots.txt" or not len(self):
            return None
        target = path_to_match(target) + _END
        plain, wild = self._plain, self._wild
        best = plain.first_prefix(target)
        at = wild.first_match(target, plain.ranks[best] if best >= 0 else 0)
        if at >= 0:
            return wild.rule(at)
        return plain.rule(best) if best >= 0 else None


class _Ranked:
    """Patterns, the most specific first. A rank is twice the octets of the rule, plus one if it allows."""

    __slots__ = ("lines", "patterns", "ranks")

    def __init__(self, spelled: Iterable[tuple[str, int, int]]) -> None:
        ordered = sorted(spelled, key=lambda rule: rule[1], reverse=True)
        self.patterns = tuple([pattern for pattern, _, _ in ordered])
        self.ranks = array("I", [rank for _, rank, _ in ordered])
        self.lines = array("I", [line for _, _, line in ordered])

    def first_prefix(self, target: str) -> int:
        """The first pattern, taken literally, that ``target`` begins with, or -1."""
        if target.startswith(self.patterns):
            for at, pattern in enumerate(self.patterns):
                if target.startswith(pattern):
                    return at
        return -1

    def first_match(self, target: str, rank: int) -> int:
        """The first pattern of more than ``rank`` that matches, or -1.

        Each literal part is taken where it comes first, which is right since only ``*`` stands between them:
        no backtracking.
        """
        for at, pattern in enumerate(self.patterns):
            if self.ranks[at] <= rank:
                break
            head, *parts = pattern.split(_ANY)
            if not target.startswith(head):
                continue
            position = len(head)
            for part in parts:
                position = target.find(part, position)
                if position < 0:
                    break
                position += len(part)
            else:
                return at
        return -1

    def rule(self, at: int) -> Rule:
        written = self.patterns[at].replace(_ANY, "*").replace(_END, "$")
        return Rule(bool(self.ranks[at] & 1), written, self.lines[at])


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
        self._weight += len(rules)
        while len(self._held) > 1 and self._is_too_large():
            self._drop(next(iter(self._held)))
        return rules

    def _is_too_large(self) -> bool:
        return len(self._held) > self._size or self._weight > self._size * RULES_PER_ORIGIN

    def _drop(self, origin: str) -> None:
        self._weight -= len(self._held.pop(origin)[1])


def path_to_match(path: str) -> str:
    """The form in which a path and a rule are compared (RFC 9309, section 2.2.2): printable ASCII.

    Octets that no URI has as they are are percent-encoded, with capital digits; percent-encoded octets that a
    URI can have are decoded, except ``%2F`` and ``%3F`` in front of the query, where they are not the
    delimiters they stand for. (The RFC's table encodes ``://`` in a query where this decodes ``%3A%2F%2F``:
    the comparison comes out the same, and a rule ``/*/private`` still finds its slash.)
    """
    if _NORMAL(path):
        return path
    head, mark, query = path.partition("?")
    return _normalised(head, _IN_PATH) + mark + _normalised(query, _IN_QUERY)


def _normalised(text: str, spellings: Mapping[bytes, bytes]) -> str:
    octets = text.encode("utf-8", "surrogatepass")
    return _TO_NORMALISE.sub(lambda match: spellings[match[0]], octets).decode("ascii")


def _spellings(kept: str) -> dict[bytes, bytes]:
    """For each octet or percent-encoded octet that may need it: its form for comparison."""
    spellings = {}
    for octet in range(256):
        escape = f"%{octet:02X}"
        normal = chr(octet) if octet < 128 and _NORMAL(chr(octet)) else escape
        spellings[bytes([octet])] = normal.encode()
        high, low = escape[1], escape[2]
        for written in {high + low, high.lower() + low, high + low.lower(), high.lower() + low.lower()}:
            spellings[f"%{written}".encode()] = (escape if chr(octet) in kept else normal).encode()
    return spellings


_IN_PATH = _spellings(kept="/?")
_IN_QUERY = _spellings(kept="")


def _target(url: str) -> str:
    """The path and query of a URL, as rules see it."""
    found = _TARGET.match(url)
    target = found[1] if found else ""
    return target if target.startswith("/") else "/" + target


def _spelled(rules: Iterable[Rule]) -> list[tuple[str, int, int]]:
    """For each rule in force its pattern as it will be matched, its rank and its line."""
    spelled = []
    wildcards = 0
    for rule in rules:
        for text, octets in _readings(rule):
            if _ANY in text:
                wildcards += 1
                if wildcards > MAX_WILDCARD_RULES:
                    if rule.allow:
                        continue
                    text = text.partition(_ANY)[0]
            spelled.append((text, 2 * octets + rule.allow, rule.line))
    return spelled


def _readings(rule: Rule) -> list[tuple[str, int]]:
    """A rule's pattern as it will be matched, and its octets.

    A ``*`` may stand for the ``?`` too, and behind that, in the query, ``%2F`` and ``%3F`` are the same as
    ``/`` and ``?``. A Disallow with such an escape behind a ``*`` is read both ways.
    """
    if rule.allow:
        return [_reading(rule.pattern)] if len(rule.pattern) <= MAX_PATTERN_LENGTH else []
    pattern = rule.pattern[:MAX_PATTERN_LENGTH]
    readings = [_reading(pattern)]
    path = pattern.partition("?")[0]
    star = path.find("*")
    escape = _ESCAPED_DELIMITER.search(path, star) if star >= 0 else None
    if escape:
        readings.append(_reading(pattern, query_at=path.count("*", 0, escape.start())))
    return readings


def _reading(pattern: str, *, query_at: int = 0) -> tuple[str, int]:
    """One reading; ``query_at`` is the number of the ``*`` that stands for the ``?`` as well, if one does."""
    parts = []
    in_query = False
    for stars, part in enumerate(pattern.removesuffix("$").split("*")):
        at_query = stars == query_at > 0
        in_query = in_query or at_query
        text = path_to_match("?" + part)[1:] if in_query else path_to_match(part)
        parts.append("?" + _ANY + text if at_query else text)
        in_query = in_query or "?" in part
    text = _ANY.join(parts) + (_END if pattern.endswith("$") else "")
    octets = len(text) - 2 * (query_at > 0)
    # A "*" at the end adds to the octets that make a rule specific, but to what it matches it adds nothing.
    return text.rstrip(_ANY), octets
