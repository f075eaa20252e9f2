"""How long a response is fresh by its own header fields (RFC 9111, section 4.2).

The crawler is a private cache in the words of the RFC: ``s-maxage`` is for shared ones, which their sites can purge,
and is ignored. ``immutable`` (RFC 8246) says nothing more than the lifetime: a floor of revisits asks for no
confirmation before its end either. No clock of ours is compared with one of theirs: ``Expires`` is measured from the
``Date`` of the same response.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webcrawl.parsing.text import epoch_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

LIFETIME_MAX_SECONDS = float(1 << 31)
"""A longer lifetime is taken for this one (RFC 9111, section 1.2.2)."""
FIELD_MAX = 4_096
"""Characters of ``Cache-Control`` that are read."""

_DIRECTIVE = re.compile(r'([^\s,="]+)(?:=(?:"([^"]*)"|([^\s,"]*)))?')
_SECONDS = re.compile(r"[0-9]+")


def fresh_seconds(
    cache_control: Sequence[str], expires: str | None = None, date: str | None = None, age: str | None = None
) -> float | None:
    """Return for how many seconds a response that has just come is fresh; None if it does not say.

    0: it says that it must not be used without being confirmed (``no-cache``, ``no-store``, ``max-age=0``, a date in
    the past), or its words contradict each other or cannot be read. ``max-age`` counts before ``Expires``. ``age`` is
    the time that it has already spent in caches.
    """
    lifetime = _lifetime(", ".join(cache_control)[:FIELD_MAX], expires, date)
    spent = age.strip() if age is not None else ""
    if lifetime and _SECONDS.fullmatch(spent):
        return max(lifetime - _seconds(spent), 0.0)
    return lifetime


def _lifetime(cache_control: str, expires: str | None, date: str | None) -> float | None:
    ages = set()
    for name, quoted, token in _DIRECTIVE.findall(cache_control):
        name = name.lower()
        if name in ("no-cache", "no-store"):
            return 0.0
        if name == "max-age":
            value = quoted or token
            ages.add(_seconds(value) if _SECONDS.fullmatch(value) else 0.0)
    if ages:
        return ages.pop() if len(ages) == 1 else 0.0
    if expires is None:
        return None
    ends, sent = epoch_seconds(expires), None if date is None else epoch_seconds(date)
    if ends is None or sent is None:
        # "0" is the commonest; without a Date it cannot be measured.
        return 0.0 if ends is None else None
    return min(max(ends - sent, 0.0), LIFETIME_MAX_SECONDS)


def _seconds(digits: str) -> float:
    return min(float(digits[:16]), LIFETIME_MAX_SECONDS)
