"""The spelling of rules and URLs for Protego, so that it compares them by RFC 9309 (section 2.2.2).

First the form for comparison, of which there are two: the RFC's, and the one as written, which is that of Google's
matcher. Then, file by file, a respelling in characters that Protego compares literally.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from webcrawl.robots.text import RobotsRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_WILDCARD_RULES = 2_000
"""Rules with a ``*`` inside that are matched as written. Each costs a check 0.2 us, 6 with a hostile URL."""

MAX_WILDCARDS = 10_000
"""``*`` in all these rules together: 2,000 rules of a hundred each would cost a check 50 ms."""

MAX_PATTERN_LENGTH = 8_192
"""Characters of a pattern; of an Allow also its octets, so that none is as specific as a Disallow cut short."""

ANY = "\1"
"""The ``*`` of the file in a prepared pattern: any characters."""

END = "\2"
"""The end of a path, and the ``$`` that matches it."""

_ESCAPED_DELIMITER = re.compile("%(?:2F|3F)", re.IGNORECASE)

_URI_CHARACTERS = "!$&-;=?-Z\\[\\]_a-z~"
_NORMAL = re.compile(f"[{_URI_CHARACTERS}]*").fullmatch
_TO_NORMALISE = re.compile(f"%[0-9A-Fa-f]{{2}}|[^{_URI_CHARACTERS}]".encode())

_NO_ESCAPES = re.compile(r"[\0\3-\x24\x26-\x7f]*").fullmatch
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_BEGUN_ESCAPE = re.compile("%[0-9A-Fa-f]{1,2}")
_NOT_WRITTEN = re.compile(r"[\1\2\x80-\U0010ffff]+")

_UNTOUCHED = frozenset(string.ascii_letters + string.digits + "-._~=")
"""Characters that Protego compares literally. A slash too, but not two in front nor the one before index.html."""


def path_to_match(path: str) -> str:
    """Return the form in which a path and a rule are compared (RFC 9309, section 2.2.2): printable ASCII.

    Octets that a URI cannot have literally are percent-encoded, with capital digits; percent-encoded octets that a
    URI can have are decoded, except ``%2F`` and ``%3F`` in front of the query, where they are not the delimiters they
    stand for. (The RFC's table encodes ``://`` in a query where this decodes ``%3A%2F%2F``: the comparison comes out
    the same, and a rule ``/*/private`` still finds its slash.)
    """
    if _NORMAL(path):
        return path
    head, mark, query = path.partition("?")
    return _normalised(head, _IN_PATH) + mark + _normalised(query, _IN_QUERY)


def _normalised(text: str, spellings: Mapping[bytes, bytes]) -> str:
    octets = text.encode("utf-8", "surrogatepass")
    return _TO_NORMALISE.sub(lambda match: spellings[match[0]], octets).decode("ascii")


def _spellings(kept: str) -> dict[bytes, bytes]:
    """Return the form for comparison of each octet or percent-encoded octet that may need it."""
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


def as_it_stands(path: str) -> str:
    """Return the other form in which a path and a rule are compared, that of Google's matcher: nothing is decoded.

    Escapes have capital digits, and characters outside ASCII are percent-encoded. A ``%`` that begins no escape stays
    one, so that in a rule it is the beginning of any escape.
    """
    if _NO_ESCAPES(path):
        return path
    return _ESCAPE.sub(lambda escape: escape[0].upper(), _NOT_WRITTEN.sub(_encoded, path))


def _encoded(characters: re.Match[str]) -> str:
    return "".join([f"%{octet:02X}" for octet in characters[0].encode("utf-8", "surrogatepass")])


def by_rfc(rule: RobotsRule) -> list[str]:
    """Return the pattern of a rule in the RFC's form for comparison; two if it can be read in two ways.

    A ``*`` may stand for the ``?`` too, and after that, in the query, ``%2F`` and ``%3F`` are the same as ``/`` and
    ``?``. A Disallow with such an escape after a ``*`` is read both ways.
    """
    if rule.allow:
        return [_reading(rule.pattern)]
    pattern = _cut(rule.pattern)
    readings = [_reading(pattern)]
    path = pattern.partition("?")[0]
    star = path.find("*") if "%" in path else -1
    escape = _ESCAPED_DELIMITER.search(path, star) if star >= 0 else None
    if escape:
        readings.append(_reading(pattern, query_at=path.count("*", 0, escape.start())))
    return readings


def as_written(rule: RobotsRule) -> list[str]:
    """Return the pattern of a rule in the form for comparison that decodes nothing."""
    if rule.allow:
        pattern = as_it_stands(rule.pattern)
    else:
        # Also the digit of an escape that is not complete.
        pattern = _BEGUN_ESCAPE.sub(lambda escape: escape[0].upper(), as_it_stands(_cut(rule.pattern)))
    end = END if pattern.endswith("$") else ""
    return [pattern.removesuffix("$").replace("*", ANY) + end]


def prepared(
    rules: Iterable[RobotsRule], form: Callable[[RobotsRule], list[str]] = by_rfc
) -> list[RobotsRule]:
    """Return the rules in force, each pattern in a form for comparison, as long as its octets make it specific."""
    prepared = []
    wildcards = stars = 0
    for rule in rules:
        if rule.allow and len(rule.pattern) > MAX_PATTERN_LENGTH:
            continue
        for pattern in form(rule):
            if rule.allow and len(pattern) > MAX_PATTERN_LENGTH:
                continue
            if ANY in pattern.rstrip(ANY):
                wildcards += 1
                stars += pattern.count(ANY)
                if wildcards > MAX_WILDCARD_RULES or stars > MAX_WILDCARDS:
                    if rule.allow:
                        continue
                    # Stars at the end match nothing more, but keep it as specific as it was written.
                    head = pattern.partition(ANY)[0]
                    pattern = head.ljust(len(pattern), ANY)
            prepared.append(RobotsRule(rule.allow, pattern, rule.line))
    return prepared


def _cut(pattern: str) -> str:
    """Shorten a Disallow that is too long: it forbids all paths that begin like it, and no escape is split."""
    if len(pattern) <= MAX_PATTERN_LENGTH:
        return pattern
    pattern = pattern[:MAX_PATTERN_LENGTH]
    if "%" in pattern[-2:]:
        pattern = pattern[: pattern.rindex("%")]
    return pattern.ljust(MAX_PATTERN_LENGTH + 1, "*")


def _reading(pattern: str, *, query_at: int = 0) -> str:
    """Return one reading; ``query_at`` is the number of the ``*`` that stands for the ``?`` as well, if one does."""
    end = END if pattern.endswith("$") else ""
    body = pattern.removesuffix("$")
    if _NORMAL(body):
        return body.replace("*", ANY) + end
    parts = []
    in_query = False
    for stars, part in enumerate(body.split("*")):
        at_query = stars == query_at > 0
        in_query = in_query or at_query
        text = path_to_match("?" + part)[1:] if in_query else path_to_match(part)
        parts.append("?" + ANY + text if at_query else text)
        in_query = in_query or "?" in part
    return ANY.join(parts) + end


class Spelling:
    """The spelling of the rules of one file and of the URLs checked against it for Protego, after one more slash.

    Characters that Protego compares literally stay. Each other one that is in a rule is written as one that is in no
    rule, so that patterns keep their length, by which Protego ranks them. All characters that are in no rule become
    one character: it matches nothing. If the rules leave too few characters, all is hexadecimal and three times as
    long.
    """

    __slots__ = ("_table",)

    def __init__(self, patterns: str) -> None:
        used = set(patterns) - {ANY}
        foreign = sorted(used - _UNTOUCHED)
        # Never "t", it could be the last letter: no URL may look like /robots.txt, which Protego always allows.
        free = sorted(_UNTOUCHED - used - {"t"}, reverse=True)
        self._table = b""
        if len(foreign) < len(free):
            table = bytearray(free.pop().encode() * 128)
            for character in used:
                table[ord(character)] = ord(character)
            for character, spelled in zip(foreign, free, strict=False):
                table[ord(character)] = ord(spelled)
            table[ord(ANY)] = ord("*")
            self._table = bytes(table).ljust(256)

    def written(self, text: str) -> str:
        """Return a prepared pattern, or a path in the form for comparison and the end, in this spelling."""
        octets = text.encode("ascii")
        if self._table:
            return "/" + octets.translate(self._table).decode("ascii")
        return "/" + (octets.hex("-") + "-").replace("01-", "***")
