"""The form in which two URLs are compared. Never fetched: a server may tell apart what this makes equal.

How a URL comes to its comparable form: what each switch of the rules made of it, one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.urls.host_rules import HostRules


_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

# An escape that follows a stray percent sign must stay: "%%32%65" would become "%2e", an escape nobody wrote.
_ESCAPE = re.compile(r"((?<!%)(?<!%[0-9A-Fa-f]))?%([0-9A-Fa-f]{2})")
_LOWER_CASE_ESCAPE = re.compile(r"%(?:[0-9a-f][a-f]|[a-f][0-9a-f])")
_NOT_OF_URIS = re.compile(r"[\[\]{}|\\^`]")
_ESCAPED = {character: f"%{ord(character):02X}" for character in "[]{}|\\^`"}
_SLASHES = re.compile(r"//+")
_INDEX = re.compile(r"/(?:index|default)\.[a-z0-9]{1,6}$", re.IGNORECASE)

# What each switch could find to do, as a pattern on the whole URL: see CanonicalRules.
_SUSPECT_ESCAPE = r"%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])"
_SUSPECTS = {
    "escapes": _SUSPECT_ESCAPE,
    "empty_query": r"\?\Z",
    "collapse_slashes": r"//.*//",
    "drop_index": r"/(?i:index|default)\.",
    "lower_case_path": r"[A-Z]",
    "drop_host_dot": r"^https?://[^/]*\.[:/]",
    "brackets": _NOT_OF_URIS.pattern,
}
SWITCHES = tuple(_SUSPECTS)
"""The names of the switches of ``CanonicalRules``."""

_SIGNS = {"escapes": ("%",), "empty_query": ("?",), "brackets": tuple(_ESCAPED)}


@dataclass(frozen=True, slots=True)
class CanonicalRules:
    """Which differences between URLs do not count. What WHATWG serialisation removes never counts.

    That is the case of scheme and host, the default port, dot segments, spelled-out UTF-8. Every rule is
    idempotent, alone and with the others.
    """

    escapes: bool = True
    """Write escapes in upper case, and unreserved characters (RFC 3986, section 2.3) without them."""
    empty_query: bool = True
    """Remove a ``?`` with nothing behind it."""
    collapse_slashes: bool = False
    """Make one slash of several in the path."""
    drop_index: bool = False
    """Remove ``index.*`` and ``default.*`` from the end of the path."""
    lower_case_path: bool = False
    """Write the path in lower case, as servers on case-insensitive file systems take it."""
    drop_host_dot: bool = False
    """Remove the dot that ends a fully qualified host name."""
    brackets: bool = True
    """Escape brackets, braces, ``|``, a backslash, ``^`` and the backtick in path and query: browsers leave some of
    them as they are, which no URI may have (RFC 3986)."""
    hosts: HostRules | None = None
    """Hosts that are one site under several names."""
    suspect: re.Pattern[str] = field(init=False, repr=False, compare=False)
    """Finds something in every URL that these rules change, and in few others."""
    signs: tuple[str, ...] | None = field(init=False, repr=False, compare=False)
    """One of these characters is in every URL that these rules change; None where no characters tell."""

    def __post_init__(self) -> None:
        patterns = [pattern for name, pattern in _SUSPECTS.items() if getattr(self, name)]
        signs = [_SIGNS.get(name) for name in _SUSPECTS if getattr(self, name)]
        known = [sign for sign in signs if sign is not None]
        tell = len(known) == len(signs) and self.hosts is None
        object.__setattr__(self, "signs", tuple(chain(*known)) if tell else None)
        everything = r"" if self.hosts is not None and self.hosts.rules else r"(?!)"
        object.__setattr__(self, "suspect", re.compile("|".join([*patterns, everything])))


DEFAULT = CanonicalRules()


def canonical(url: str, rules: CanonicalRules = DEFAULT) -> str:
    """Return the comparable form of a resolved URL. Idempotent; never raises on what ``resolve`` returns."""
    return url if rules.suspect.search(url) is None else _rewrite(url, rules)


def canonical_all(urls: Sequence[str], rules: CanonicalRules = DEFAULT) -> list[str]:
    """Return the comparable forms of resolved URLs, in their order."""
    if rules.signs is not None and are_canonical("".join(urls), rules):
        return list(urls)
    suspect = rules.suspect.search
    return [url if suspect(url) is None else _rewrite(url, rules) for url in urls]


def are_canonical(together: str, rules: CanonicalRules = DEFAULT) -> bool:
    """Whether it is plain to see that none of the URLs in a text would be changed. A look at all of them at once: a
    page's links often have neither escapes nor queries.
    """
    return rules.signs is not None and not any(sign in together for sign in rules.signs)


def _rewrite(url: str, rules: CanonicalRules) -> str:
    if rules.escapes:
        url = _ESCAPE.sub(_normal_escape, url)
    before_query, mark, query = url.partition("?")
    scheme, _, rest = before_query.partition("//")
    host, _, path = rest.partition("/")
    if rules.drop_host_dot:
        host = _without_final_dot(host)
    if rules.hosts is not None:
        name, colon, port = host.partition(":")
        host = rules.hosts.known_as(name) + colon + port
    path = _rewrite_path("/" + path, rules)
    if rules.brackets:
        query = _escaped(query)
    if rules.empty_query and not query:
        mark = ""
    return f"{scheme}//{host}{path}{mark}{query}"


def _rewrite_path(path: str, rules: CanonicalRules) -> str:
    if rules.brackets:
        path = _escaped(path)
    if rules.collapse_slashes:
        path = _SLASHES.sub("/", path)
    if rules.drop_index:
        path = _INDEX.sub("/", path)
    if rules.lower_case_path:
        path = path.lower()
        if rules.escapes:
            path = _LOWER_CASE_ESCAPE.sub(lambda escape: escape.group().upper(), path)
    return path


def _normal_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[2], 16))
    if character in _UNRESERVED and escape[1] is not None:
        return character
    return escape[0].upper()


def _escaped(text: str) -> str:
    return _NOT_OF_URIS.sub(lambda found: _ESCAPED[found[0]], text)


def _without_final_dot(authority: str) -> str:
    host, colon, port = authority.partition(":")
    return f"{host.rstrip('.') or host}{colon}{port}"


ALL_SWITCHES = tuple(field.name for field in fields(CanonicalRules) if field.init)
"""The names of all switches, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one switch did; ``before`` and ``after`` are the same where it found nothing to do."""

    switch: str
    before: str
    after: str


def canonical_steps(url: str, rules: CanonicalRules = DEFAULT) -> list[Step]:
    """Return a step for each switch that is on. The last one ends in ``canonical(url, rules)``.

    A step is what the switch adds to those before it: the forms are those that rules with ever more switches
    give, so nothing of the rewriting is said twice.
    """
    given = {name: getattr(rules, name) for name in ALL_SWITCHES}
    so_far = replace(rules, **{name: type(value)() for name, value in given.items()})
    steps, form = [], canonical(url, so_far)
    for name, value in given.items():
        if not value:
            continue
        so_far = replace(so_far, **{name: value})
        after = canonical(url, so_far)
        steps.append(Step(name, form, after))
        form = after
    return steps
