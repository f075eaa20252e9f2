"""The robots directives of a page about itself: ``<meta name="robots">`` and the field ``X-Robots-Tag``.

No standard defines them. The source is the description that all others follow, Google's "Robots meta tag,
data-nosnippet, and X-Robots-Tag specifications"; the HTML standard only registers the name. According to it:

* Names and rules are compared without case, and unknown rules are ignored. ``none`` is ``noindex, nofollow``; ``all``
  has no effect.
* A rule without an agent is for all; after ``agent:`` it is for that agent, up to the next agent or the end of the
  line. Rules for us are added to rules for all (the sum of the negative rules), and where two contradict each other
  the more restrictive one holds. So a rule for us takes nothing back: ``index`` lifts no ``noindex``.
* ``unavailable_after`` is ``noindex`` from its time on, which is written as in RFC 822, RFC 850 or ISO 8601. Without
  a time that can be read it has no effect.

Blanks and semicolons between rules are taken for commas, as pages have them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

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
    ours = ALL_ROBOTS.union(agent.lower() for agent in agents)
    tags = NOTHING
    for line in lines:
        applies = True
        for item in _items(line):
            name, rule = _addressed(item)
            if name is not None:
                applies = name in ours
            if applies:
                tags |= _directive(rule, now)
    return tags


def of_meta(contents: Iterable[str], now: float) -> RobotsTags:
    """Return the directives in the contents of meta elements that are addressed to all or to us. Never raises."""
    contents = list(contents)
    if sum(map(len, contents)) > LENGTH_MAX:
        return RobotsTags(noindex=True, nofollow=True)
    tags = NOTHING
    for content in contents:
        for item in _items(content):
            tags |= _directive(item, now)
    return tags


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
    """Return the directives of one item between commas: rules with blanks between them, the last one perhaps with a
    value."""
    rules, colon, value = item.lower().partition(":")
    words = _BETWEEN.split(rules.strip())
    noindex = "noindex" in words or "none" in words
    nofollow = "nofollow" in words or "none" in words
    if colon and words[-1] in _UNTIL:
        until = epoch_seconds(value)
        noindex = noindex or (until is not None and now >= until)
    return RobotsTags(noindex, nofollow)
