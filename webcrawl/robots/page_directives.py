"""What a page asks of robots about itself: ``<meta name="robots">`` and the field ``X-Robots-Tag``.

No standard defines them. The source is the description that all others follow, Google's "Robots meta tag,
data-nosnippet, and X-Robots-Tag specifications"; the HTML standard only registers the name. As it has it:

* Names and rules are compared without case, and unknown rules are ignored. ``none`` is ``noindex, nofollow``; ``all``
  says nothing.
* A rule without an agent is for all; behind ``agent:`` it is for that agent, up to the next agent or the end of the
  line. What is said to us is added to what is said to all (the sum of the negative rules), and where two contradict
  each other the more restrictive one holds. So a rule for us takes nothing back: ``index`` lifts no ``noindex``.
* ``unavailable_after`` is ``noindex`` from its time on, which is written as in RFC 822, RFC 850 or ISO 8601. Without
  a time that can be read it says nothing.

Blanks and semicolons between rules are taken for commas, as pages have them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from webcrawl.parsing.text import epoch_seconds

EVERYBODY = frozenset({"robots", "*"})
"""Agents that are no agent: what stands behind them is for all."""

LENGTH_MAX = 16_384
"""Characters that are read of what one response or one page says. More than that is read as the most that could be
asked: nobody means it, and to read a quarter of a megabyte of it takes a tenth of a second."""

_UNTIL = frozenset({"unavailable_after", "unavailable-after"})
# Rules with a value; ``max-snippet: 20`` is not for an agent of that name.
_VALUED = re.compile(r"unavailable[_-]after|max-[a-z-]+")
_BETWEEN = re.compile(r"[\s;]+")
_WEEKDAY = re.compile(r"\s*[A-Za-z]+\.?\s*")


class RobotsTags(NamedTuple):
    """What is asked of us: to keep the page out of stores and indexes, to follow none of its links."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: tuple[object, ...]) -> RobotsTags:
        """What two places ask for together."""
        noindex, nofollow = other
        return RobotsTags(self.noindex or bool(noindex), self.nofollow or bool(nofollow))

    def facts(self) -> dict[str, bool]:
        """What is asked for, by name, as the fetch log tells it."""
        return {name: True for name, asked in zip(self._fields, self, strict=True) if asked}


NOTHING = RobotsTags()


def of_header(lines: Iterable[str], agent: str, now: float) -> RobotsTags:
    """Return what the lines of ``X-Robots-Tag`` ask of ``agent``, a product token, at ``now`` (epoch seconds).

    Each line stands for itself: an agent named in one does not reach into the next. Never raises.
    """
    lines = list(lines)
    if sum(map(len, lines)) > LENGTH_MAX:
        return RobotsTags(noindex=True, nofollow=True)
    ours = EVERYBODY | {agent.lower()}
    asked = NOTHING
    for line in lines:
        speaks_to_us = True
        for item in _items(line):
            name, rule = _addressed(item)
            if name is not None:
                speaks_to_us = name in ours
            if speaks_to_us:
                asked |= _asked(rule, now)
    return asked


def of_meta(contents: Iterable[str], now: float) -> RobotsTags:
    """Return what the contents of meta elements ask that are addressed to all or to us. Never raises."""
    contents = list(contents)
    if sum(map(len, contents)) > LENGTH_MAX:
        return RobotsTags(noindex=True, nofollow=True)
    asked = NOTHING
    for content in contents:
        for item in _items(content):
            asked |= _asked(item, now)
    return asked


def _items(text: str) -> Iterator[str]:
    """What stands between commas, but for the comma behind the weekday of a date."""
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
    """The agent that is named in front of a rule, in lower case and None if there is none, and the rule."""
    before, colon, rest = item.partition(":")
    name = before.strip().lower()
    if not colon or _VALUED.fullmatch(_BETWEEN.split(name)[-1]):
        return None, item
    return name, rest


def _asked(item: str, now: float) -> RobotsTags:
    """What one item between commas asks for: rules with blanks between them, the last one perhaps with a value."""
    rules, colon, value = item.lower().partition(":")
    words = _BETWEEN.split(rules.strip())
    noindex = "noindex" in words or "none" in words
    nofollow = "nofollow" in words or "none" in words
    if colon and words[-1] in _UNTIL:
        until = epoch_seconds(value)
        noindex = noindex or (until is not None and now >= until)
    return RobotsTags(noindex, nofollow)
