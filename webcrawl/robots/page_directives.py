"""The robots directives of a page about itself: ``<meta name="robots">`` and the fields ``X-Robots-Tag`` and
``Robots-Tag``.

No standard defines the first two. The source is the description that all others follow, Google's "Robots meta tag,
data-nosnippet, and X-Robots-Tag specifications"; the HTML standard only registers the name. According to it:

* Names and rules are compared without case, and unknown rules are ignored. ``none`` is ``noindex, nofollow``; ``all``
  has no effect.
* A rule without an agent is for all; after ``agent:`` it is for that agent, up to the next agent or the end of the
  line. Rules for us are added to rules for all (the sum of the negative rules), and where two contradict each other
  the more restrictive one holds. So a rule for us takes nothing back: ``index`` lifts no ``noindex``.
* ``unavailable_after`` is ``noindex`` from its time on, which is written as in RFC 822, RFC 850 or ISO 8601. Without
  a time that can be read it has no effect.

Blanks and semicolons between rules are taken for commas, as pages have them too.

``Robots-Tag`` is of draft-illyes-repext-03 (18 April 2026): a list of structured fields (RFC 9651) whose members are
product tokens, or ``*``, with rules as parameters. A member that is the name of a rule is a rule for all, and a field
that is no such list is read like ``X-Robots-Tag``: whoever writes it means to restrict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import http_sf

from webcrawl.parsing.text import epoch_seconds

ALL_ROBOTS = frozenset({"robots", "*"})
"""Names that stand for all agents."""

LENGTH_MAX = 16_384
"""Characters of the directives of one response or one page that are read. More are treated as the strictest
directives: no page needs them, and a quarter of a megabyte takes a tenth of a second to read."""

_UNTIL = frozenset({"unavailable_after", "unavailable-after"})
# Rules with a value; ``max-snippet: 20`` is not for an agent of that name.
_VALUED = re.compile(r"unavailable[_-]after|max-[a-z-]+")
_BETWEEN = re.compile(r"[\s;]+")
_WEEKDAY = re.compile(r"\s*[A-Za-z]+\.?\s*")


class RobotsTags(NamedTuple):
    """The directives for us: keep the page out of stores and indexes, follow none of its links."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotsTags:
        """Combine the directives of two places."""
        noindex, nofollow = other
        return RobotsTags(self.noindex or bool(noindex), self.nofollow or bool(nofollow))

    def facts(self) -> dict[str, bool]:
        """Return the directives in force, by name, for the fetch log."""
        return {name: True for name, is_set in zip(self._fields, self, strict=True) if is_set}


NOTHING = RobotsTags()


def of_header(lines: Iterable[str], agents: Iterable[str], now: float) -> RobotsTags:
    """Return the directives of ``X-Robots-Tag`` lines for ``agents``, product tokens, at ``now`` (epoch seconds).

    Each line stands for itself: an agent named in one does not reach into the next. Never raises.
    """
    lines = list(lines)
    if sum(map(len, lines)) > LENGTH_MAX:
        return RobotsTags(noindex=True, nofollow=True)
    return _combined(items_of_header(lines, agents), now)


def of_field(lines: Iterable[str], agents: Iterable[str], now: float) -> RobotsTags:
    """Return the directives of ``Robots-Tag`` lines for ``agents``, product tokens, at ``now``. Never raises."""
    return _combined(items_of_field(lines, agents), now)


def of_meta(contents: Iterable[str], now: float) -> RobotsTags:
    """Return the directives in the contents of meta elements that are addressed to all or to us. Never raises."""
    contents = list(contents)
    if sum(map(len, contents)) > LENGTH_MAX:
        return RobotsTags(noindex=True, nofollow=True)
    return _combined(items_of_meta(contents), now)


def items_of_header(lines: Iterable[str], agents: Iterable[str]) -> Iterator[str]:
    """Yield the rules of ``X-Robots-Tag`` lines for ``agents``: what stands between two commas, without the agent."""
    ours = ALL_ROBOTS.union(agent.lower() for agent in agents)
    for line in lines:
        applies = True
        for item in _items(line[:LENGTH_MAX]):
            name, rule = _addressed(item)
            if name is not None:
                applies = name in ours
            if applies:
                yield rule


def items_of_field(lines: Iterable[str], agents: Iterable[str]) -> Iterator[str]:
    """Yield the rules of ``Robots-Tag`` lines, which are one list, for ``agents``: ``name`` or ``name: value``.

    Of a value longer than ``LENGTH_MAX`` the members that are whole within it count.
    """
    agents = tuple(agents)
    value = ", ".join(lines)
    if len(value) > LENGTH_MAX:
        value = value[:LENGTH_MAX].rpartition(",")[0]
    try:
        members = http_sf.parse(value.encode("latin-1", "replace"), tltype="list")
    except (ValueError, http_sf.StructuredFieldError):
        yield from items_of_header([value], agents)
        return
    assert isinstance(members, list)
    ours = ALL_ROBOTS.union(agent.lower() for agent in agents)
    for member in members:
        token, parameters = member if isinstance(member, tuple) else (member, {})
        if not isinstance(token, str | http_sf.Token):
            continue
        name = str(token).lower()
        if name in ours:
            for rule, setting in parameters.items():
                if setting is not False:
                    yield rule if setting is True else f"{rule}: {_written(setting)}"
        elif not parameters:
            yield from items_of_header([name], agents)


def items_of_meta(contents: Iterable[str]) -> Iterator[str]:
    """Yield the rules in the contents of meta elements that are addressed to all or to us."""
    for content in contents:
        yield from _items(content[:LENGTH_MAX])


def rules_in(item: str) -> Iterator[tuple[str, str]]:
    """Yield the rules of an item, names in lower case, each with its value or an empty text: there can be blanks
    between rules, and the last one can have a value."""
    rules, colon, value = item.partition(":")
    words = _BETWEEN.split(rules.strip().lower())
    for number, word in enumerate(words, 1):
        if word:
            yield word, value.strip() if colon and number == len(words) else ""


def _combined(items: Iterable[str], now: float) -> RobotsTags:
    tags = NOTHING
    for item in items:
        tags |= _directive(item, now)
    return tags


def _written(setting: object) -> str:
    return setting.isoformat() if isinstance(setting, datetime) else str(setting)


def _items(text: str) -> Iterator[str]:
    """Split at commas, but for the comma after the weekday of a date."""
    open_date = ""
    for item in text.split(","):
        if open_date:
            yield f"{open_date},{item}"
            open_date = ""
        elif _is_open_date(item):
            open_date = item
        else:
            yield item
    if open_date:
        yield open_date


def _is_open_date(item: str) -> bool:
    before, colon, value = item.rpartition(":")
    name = _BETWEEN.split(before.rpartition(":")[2].strip().lower())[-1]
    return bool(colon) and name in _UNTIL and _WEEKDAY.fullmatch(value) is not None


def _addressed(item: str) -> tuple[str | None, str]:
    """Return the agent that is named before a rule, in lower case and None if there is none, and the rule."""
    before, colon, rest = item.partition(":")
    name = before.strip().lower()
    if not colon or _VALUED.fullmatch(_BETWEEN.split(name)[-1]):
        return None, item
    return name, rest


def _directive(item: str, now: float) -> RobotsTags:
    """Return the directives of one item."""
    noindex = nofollow = False
    for rule, value in rules_in(item):
        noindex = noindex or rule in ("noindex", "none")
        nofollow = nofollow or rule in ("nofollow", "none")
        if value and rule in _UNTIL:
            until = epoch_seconds(value)
            noindex = noindex or (until is not None and now >= until)
    return RobotsTags(noindex, nofollow)
