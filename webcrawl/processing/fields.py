"""Fields: what kinds there are, and how what a module gives becomes a value that no store, feed or terminal minds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, assert_never

from webcrawl.documents.text import line, lines

LINE_MAX = 2_000
"""Characters of a line."""
TEXT_MAX = 1 << 24
"""Characters of a text: more than a body of any usual limit has."""
ENTRIES_MAX = 1_000
"""Entries of a list or a mapping."""
_WHOLE_MAX = 2**63 - 1
"""Files with types have 64 bits for a number."""

Value = str | int | float | bool | list[str] | dict[str, int] | dict[str, str] | None


class Kind(StrEnum):
    """What a field holds. In CSV lists and mappings are JSON."""

    LINE = "line"
    """Text in one line, at most ``LINE_MAX`` characters."""
    TEXT = "text"
    """Text in several lines, at most ``TEXT_MAX`` characters."""
    WHOLE = "whole"
    REAL = "real"
    """A number; moments are epoch seconds."""
    FLAG = "flag"
    LINES = "lines"
    """A list of lines."""
    COUNTS = "counts"
    """Whole numbers by lines."""
    NAMED = "named"
    """Lines by lines."""


def cleaned(value: Any, kind: Kind) -> Value:
    """``value`` as a field of this kind; None for what says nothing: empty, not finite, too large.

    :raises TypeError: :raises ValueError: it is nothing of the kind
    """
    if value is None:
        return None
    match kind:
        case Kind.LINE:
            return line(_text(value), LINE_MAX) or None
        case Kind.TEXT:
            return lines(_text(value), TEXT_MAX) or None
        case Kind.WHOLE:
            return _whole(value)
        case Kind.REAL:
            number = float(value)
            return number if math.isfinite(number) else None
        case Kind.FLAG:
            return bool(value)
        case Kind.LINES:
            return [each for each in dict.fromkeys(_lines(value)) if each] or None
        case Kind.COUNTS:
            counts = zip(_lines(value), map(_whole, value.values()), strict=False)
            return {name: count for name, count in counts if count is not None} or None
        case Kind.NAMED:
            named = zip(_lines(value), _lines(value.values()), strict=False)
            return {name: said for name, said in named if said} or None
        case _:
            assert_never(kind)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, not {type(value).__name__}")
    return value


def _whole(value: Any) -> int | None:
    number = int(value)
    return number if -_WHOLE_MAX <= number <= _WHOLE_MAX else None


def _lines(value: Iterable[Any] | Mapping[Any, Any]) -> list[str]:
    if isinstance(value, str):
        raise TypeError("several lines are expected, not one")
    found = []
    for number, each in enumerate(value):
        if number == ENTRIES_MAX:
            break
        found.append(line(_text(each), LINE_MAX))
    return found
