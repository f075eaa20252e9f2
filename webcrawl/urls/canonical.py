"""The canonical form of URLs, in which they are compared. It is never fetched: a server may distinguish URLs that
have the same form.
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

# An escape after a stray percent sign must stay: "%%32%65" would become "%2e", a new escape.
_ESCAPE = re.compile(r"((?<!%)(?<!%[0-9A-Fa-f]))?%([0-9A-Fa-f]{2})")
_LOWER_CASE_ESCAPE = re.compile(r"%(?:[0-9a-f][a-f]|[a-f][0-9a-f])")
_NOT_OF_URIS = re.compile(r"[\[\]{}|\\^`]")
_ESCAPED = {character: f"%{ord(character):02X}" for character in "[]{}|\\^`"}
_SLASHES = re.compile(r"//+")
_INDEX = re.compile(r"/(?:index|default)\.[a-z0-9]{1,6}$", re.IGNORECASE)

# A pattern for each switch that matches URLs which it may change: see CanonicalRules.
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
    """The differences between URLs that do not count. Those that WHATWG serialisation removes never count.

    These are the case of scheme and host, the default port, dot segments, spelled-out UTF-8. Every rule is
    idempotent, alone and with the others.
    """

    escapes: bool = True
    """Write escapes in upper case, and unreserved characters (RFC 3986, section 2.3) without them."""
    empty_query: bool = True
    """Remove a ``?`` without a query."""
    collapse_slashes: bool = False
    """Replace several slashes in the path by one."""
    drop_index: bool = False
    """Remove ``index.*`` and ``default.*`` from the end of the path."""
    lower_case_path: bool = False
    """Write the path in lower case, for servers on case-insensitive file systems."""
    drop_host_dot: bool = False
    """Remove the dot that ends a fully qualified host name."""
    brackets: bool = True
    """Escape brackets, braces, ``|``, a backslash, ``^`` and the backtick in path and query: browsers leave some of
    them as they are, although no URI may contain them (RFC 3986).
    """
    hosts: HostRules | None = None
    """Rules for hosts that are one site under several names."""
    suspect: re.Pattern[str] = field(init=False, repr=False, compare=False)
    """Matches every URL that these rules change, and few others."""
    signs: tuple[str, ...] | None = field(init=False, repr=False, compare=False)
    """Every URL that these rules change has one of these characters; None if there are no such characters."""

    def __post_init__(self) -> None:
        patterns = [pattern for name, pattern in _SUSPECTS.items() if getattr(self, name)]
        signs = [_SIGNS.get(name) for name in _SUSPECTS if getattr(self, name)]
        known = [sign for sign in signs if sign is not None]
        are_complete = len(known) == len(signs) and self.hosts is None
        object.__setattr__(self, "signs", tuple(chain(*known)) if are_complete else None)
        everything = r"" if self.hosts is not None and self.hosts.rules else r"(?!)"
        object.__setattr__(self, "suspect", re.compile("|".join([*patterns, everything])))


DEFAULT = CanonicalRules()


def canonical(url: str, rules: CanonicalRules = DEFAULT) -> str:
    """Return the canonical form of a resolved URL. Idempotent; never raises on results of ``resolve``."""
    return url if rules.suspect.search(url) is None else _rewrite(url, rules)


def canonical_all(urls: Sequence[str], rules: CanonicalRules = DEFAULT) -> list[str]:
    """Return the canonical forms of resolved URLs, in their order."""
    if rules.signs is not None and are_canonical("".join(urls), rules):
        return list(urls)
    suspect = rules.suspect.search
    return [url if suspect(url) is None else _rewrite(url, rules) for url in urls]


def are_canonical(together: str, rules: CanonicalRules = DEFAULT) -> bool:
    """Return True if clearly none of the URLs in a text would be changed. All of them are checked at once: a page's
    links often have neither escapes nor queries.
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
    return _NOT_OF_URIS.sub(lambda match: _ESCAPED[match[0]], text)


def _without_final_dot(authority: str) -> str:
    host, colon, port = authority.partition(":")
    return f"{host.rstrip('.') or host}{colon}{port}"


ALL_SWITCHES = tuple(field.name for field in fields(CanonicalRules) if field.init)
"""The names of all switches, in the order in which they are explained."""


@dataclass(frozen=True, slots=True)
class Step:
    """The change by one switch; ``before`` and ``after`` are equal if it changed nothing."""

    switch: str
    before: str
    after: str


def canonical_steps(url: str, rules: CanonicalRules = DEFAULT) -> list[Step]:
    """Return a step for each switch that is on. The last one ends in ``canonical(url, rules)``.

    Each step is computed as the form by the rules with one switch more, so the rewriting is not implemented twice.
    """
    switches = {name: getattr(rules, name) for name in ALL_SWITCHES}
    so_far = replace(rules, **{name: type(value)() for name, value in switches.items()})
    steps, form = [], canonical(url, so_far)
    for name, value in switches.items():
        if not value:
            continue
        so_far = replace(so_far, **{name: value})
        after = canonical(url, so_far)
        steps.append(Step(name, form, after))
        form = after
    return steps
