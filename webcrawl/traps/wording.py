"""What a page says: its text in stretches as they stand between tags, and the files it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

LOOKED_AT = 1 << 16
"""Characters of a page that are looked at."""

_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_DECIMAL = re.compile(r"[0-9]+[.,][0-9]+")
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>?#;]{1,500})"
)
_SHOWN_MAX = 200
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 16


@dataclass(frozen=True, slots=True)
class Wording:
    """``stretches``: of text, in lower case, each once, and never empty; whole numbers and dates are
    all alike. ``shown``: files of images and the like, without their queries.
    """

    stretches: tuple[str, ...]
    shown: frozenset[str]

    def signature(self) -> tuple[int, ...]:
        """A few numbers of which pages that say the same have most in common; empty for a page that says nothing."""
        return tuple(islice(sorted({*map(hash, self.stretches), *map(hash, self.shown)}), _SIGNATURE))


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same."""
    return 5 * len(set(one) & set(other)) >= 4 * max(len(one), len(other)) > 0


def wording_of(body: bytes, encoding: str) -> Wording:
    """``encoding``: a codec of Python. No body makes it raise."""
    text = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT].lower()
    for begin, end in _UNSEEN:
        if begin in text:
            text = _without(text, begin, end)
    shown = frozenset(match[1] for match in islice(_SHOWN.finditer(text), _SHOWN_MAX))
    text = _NUMBER.sub(_folded, _TAG.sub("\0", text))
    stretches = dict.fromkeys(stretch for part in text.split("\0") if (stretch := part.strip()))
    return Wording(tuple(stretches), shown)


def _folded(match: re.Match[str]) -> str:
    number = match[0]
    if number.isdigit() or not _DECIMAL.fullmatch(number) or _DAY_AND_MONTH.fullmatch(number):
        return "#"
    # A measurement or a price says something that a count, a date or the number of a page does not.
    return number


def _without(text: str, begin: str, end: str) -> str:
    """Take out what lies between two marks; without an end mark all the rest."""
    parts, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = text.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
    parts.append(text[at:])
    return " ".join(parts)
