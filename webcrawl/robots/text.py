"""Reading of a robots.txt: from its bytes to the lines for one crawler (RFC 9309, sections 2.1 to 2.5).

Fail-closed where the RFC leaves a choice: misspelt ``Disallow`` and ``User-agent`` lines count, misspelt ``Allow``
lines do not.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_BYTES = 500 * 1024
"""The part of a robots.txt that is read (RFC 9309, section 2.5)."""

FILES_MARK = "\n#! files beside it: "
"""The beginning of the comment, behind the text of a robots.txt, that has the other files of its site."""

MAX_SITEMAPS = 1_000
MAX_CRAWL_DELAY_SECONDS = 1e9

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_COMPATIBLE = re.compile(r"[(;]\s*compatible\s*;\s*([A-Za-z0-9_-]+)", re.IGNORECASE)
_COMMENT = re.compile(r"\([^()]*\)?")
_PRODUCT = re.compile(r"(?:(?<=^)|(?<=[\s(;,]))([A-Za-z0-9_-]+)/[\w.+-]*\d")
_OF_BROWSERS = re.compile(
    "applewebkit|brave|build|camino|chrome|chromium|crios|edg|edga|edge|edgios|epiphany|firefox|fxios|gecko|"
    "headlesschrome|iceweasel|khtml|konqueror|like|mobile|mozilla|opera|opr|presto|safari|samsungbrowser|seamonkey|"
    "trident|ubuntu|version|vivaldi|webkit|yabrowser",
    re.IGNORECASE,
)
"""The products that browsers name; each pretends to be some of the others."""
_CRAWL_DELAY = re.compile(r"(\d+(?:[.,]\d*)?|[.,]\d+)\s*(?:s|sec|secs|seconds?)?", re.IGNORECASE | re.ASCII)

_FIELDS = {
    "user-agent": "user-agent",
    "useragent": "user-agent",
    "user agent": "user-agent",
    "allow": "allow",
    "disallow": "disallow",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
    "crawl-delay": "crawl-delay",
    "crawl delay": "crawl-delay",
    "crawldelay": "crawl-delay",
    "sitemap": "sitemap",
    "sitemaps": "sitemap",
    "site-map": "sitemap",
}
_STRICT_PREFIXES = ("user-agent", "useragent", "disallow")


class RobotsRule(NamedTuple):
    """An Allow or Disallow line as written, comment and blanks removed; ``line`` counts from 1."""

    allow: bool
    pattern: str
    line: int

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


@dataclass(frozen=True, slots=True)
class AgentRules:
    """The content of a robots.txt for one agent."""

    rules: tuple[RobotsRule, ...]
    """The agent's own rules, or those of ``*`` if no group names it; the same rule twice is kept once."""
    crawl_delay_seconds: float | None
    sitemaps: tuple[str, ...]


def product_token(user_agent: str) -> str:
    """Return the name by which a robots.txt addresses the crawler: ``webcrawl`` for ``webcrawl/0.1 (+https://...)``.

    A User-Agent that starts like a browser's names the crawler further on, in the first of these places: behind
    ``compatible;`` in a comment; the first product outside of comments that no browser names; the first such product
    in a comment. Empty if there is no name at all; such a crawler obeys the groups of ``*``.
    """
    user_agent = user_agent.strip()
    start = _TOKEN.match(user_agent)
    token = start[0] if start else ""
    if token.lower() not in ("", "mozilla"):
        return token
    if named := _COMPATIBLE.search(user_agent):
        return named[1]
    if token:
        for text in (_COMMENT.sub(" ", user_agent), user_agent):
            for product in _PRODUCT.finditer(text):
                if not _OF_BROWSERS.fullmatch(product[1]):
                    return product[1]
    return token


def product_tokens(*user_agents: str) -> tuple[str, ...]:
    """Return the different product tokens of User-Agents, in their order; empty User-Agents are left out."""
    tokens: dict[str, str] = {}
    for user_agent in user_agents:
        if user_agent:
            token = product_token(user_agent)
            tokens.setdefault(token.lower(), token)
    return tuple(tokens.values()) or ("",)


def decode(body: bytes, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a robots.txt in any encoding: UTF-8, UTF-16 or, if it is neither, Latin-1.

    Of a body longer than ``max_bytes`` the part up to the last line end is kept: half a line could mean more than the
    whole. NULs are dropped.
    """
    cut = len(body) > max_bytes
    body = body[:max_bytes]
    encoding = _encoding(body)
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(body, final=not cut)
    except UnicodeDecodeError:
        # Latin-1 has a character for every octet. A mark cut short is the commonest reason not to be UTF-8.
        text = (
            body.decode(encoding, "replace") if encoding != "utf-8" else body.decode("latin-1").lstrip("ï»¿")
        )
    text = text.lstrip("\ufeff").replace("\0", "")
    if cut:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return text


def read(text: str, agent: str) -> AgentRules:
    """Return the rules, the Crawl-delay and the sitemaps that a text has for ``agent``, a product token."""
    reader = _GroupReader(agent)
    for number, line in enumerate(split_lines(text), 1):
        if line:
            kind, value = parse_field(line)
            if kind:
                reader.take(kind, value, number)
    return reader.reading()


def read_for_all(text: str, agents: Iterable[str]) -> list[AgentRules]:
    """Return what a text has for each of several product tokens, equal ones once."""
    return list(dict.fromkeys(read(text, agent) for agent in agents))


def longest_delay(readings: Iterable[AgentRules]) -> float | None:
    """Return the longest Crawl-delay; None if there is none."""
    return max(
        (seconds for reading in readings if (seconds := reading.crawl_delay_seconds) is not None),
        default=None,
    )


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with any of the three line ends; the first is line 1 of ``RobotsRule.line``."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@dataclass(slots=True, eq=False)
class _MergedGroup:
    """All groups of a file that name one agent, merged into one."""

    rules: dict[tuple[bool, str], RobotsRule] = field(default_factory=dict)
    crawl_delay_seconds: float | None = None


class _GroupReader:
    """Goes through the lines of a file and keeps those for one agent or for ``*``.

    A group is one or more User-agent lines and the rules after them; only a rule ends the row of User-agent lines, no
    other line does (RFC 9309, section 2.2.4). Groups of the same agent are merged; rules before any User-agent line
    are ignored. A Crawl-delay, which is not in the RFC, holds for the agents named before it in its group; of several
    the largest.
    """

    def __init__(self, agent: str) -> None:
        self._token = agent.lower()
        self._own = _MergedGroup()
        self._everyone = _MergedGroup()
        self._named = False
        self._current: list[_MergedGroup] = []
        self._in_rules = False
        self._sitemaps: dict[str, None] = {}

    def take(self, kind: str, value: str, number: int) -> None:
        """Take the next line that has a known field."""
        if kind == "user-agent":
            self._agent(value)
        elif kind == "sitemap":
            if value and len(self._sitemaps) < MAX_SITEMAPS:
                self._sitemaps[value] = None
        elif kind == "crawl-delay":
            self._crawl_delay(value)
        else:
            self._in_rules = True
            if value:
                rule = RobotsRule(kind == "allow", value, number)
                for group in self._current:
                    group.rules.setdefault((rule.allow, value), rule)

    def reading(self) -> AgentRules:
        chosen = self._own if self._named else self._everyone
        return AgentRules(tuple(chosen.rules.values()), chosen.crawl_delay_seconds, tuple(self._sitemaps))

    def _agent(self, value: str) -> None:
        if self._in_rules:
            self._current, self._in_rules = [], False
        group = self._open_group(value)
        if group is not None and group not in self._current:
            self._current.append(group)
            self._named = self._named or group is self._own

    def _open_group(self, value: str) -> _MergedGroup | None:
        """Return the group that a User-agent line opens for us; its name ends at the first character that no token
        has."""
        if names_everyone(value):
            return self._everyone
        return self._own if names_agent(value, self._token) else None

    def _crawl_delay(self, value: str) -> None:
        number = _CRAWL_DELAY.fullmatch(value) if self._current else None
        if number:
            seconds = min(float(number[1].replace(",", ".")), MAX_CRAWL_DELAY_SECONDS)
            for group in self._current:
                group.crawl_delay_seconds = max(seconds, group.crawl_delay_seconds or 0.0)


def names_everyone(value: str) -> bool:
    """Return True if the value of a User-agent line is ``*``."""
    return value.startswith("*") and not value[1:2].strip()


def names_agent(value: str, token: str) -> bool:
    """Return True if the value of a User-agent line names the product token ``token``, in any case."""
    name = _TOKEN.match(value)
    return name is not None and name[0].lower() == token.lower()


def parse_field(line: str) -> tuple[str, str]:
    """Return the known field of a line and its value, or two empty strings. A missing colon is tolerated."""
    line = line.partition("#")[0].strip()
    name, colon, value = line.partition(":")
    if colon:
        kind = _kind(name.strip().lower())
        if kind:
            return kind, value.strip()
    words = line.split()
    if len(words) == 2:
        return _kind(words[0].lower()), words[1]
    return "", ""


def _kind(name: str) -> str:
    kind = _FIELDS.get(name)
    if kind is None and name.startswith(_STRICT_PREFIXES) and len(name.split()) == 1:
        kind = "disallow" if name.startswith("disallow") else "user-agent"
    return kind or ""


def _encoding(body: bytes) -> str:
    """Return UTF-16 by its mark or by the NULs that ASCII text has in it, else UTF-8."""
    if body.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if body.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    even, odd = body[0::2].count(0), body[1::2].count(0)
    # Every second octet, but not the others too: those are stray NULs in a text of single octets.
    if odd * 4 > len(body) and even * 8 < odd:
        return "utf-16-le"
    if even * 4 > len(body) and odd * 8 < even:
        return "utf-16-be"
    return "utf-8"
