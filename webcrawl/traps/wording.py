"""What a page says: its text in stretches as they stand between tags, and the files it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from webcrawl.urls.fingerprint import fingerprint

LOOKED_AT = 1 << 16
"""Characters of a page that are looked at."""

_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_TELLING = re.compile(r"[0-9]+[.,][0-9]+|(?!(?:19|20)[0-9]{6}$|[12][0-9]{9}$)[0-9]{6,}")
"""What a count, a date or the number of a page is not: measurements, prices, and long numbers."""
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>?#;]{1,500})"
)
_SHOWN_MAX = 200
_COMMENT_END = "-->"
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", _COMMENT_END))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 32


@dataclass(frozen=True, slots=True)
class Wording:
    """``stretches``: of text, in lower case, each once, and never empty; short whole numbers
    and dates are all alike. ``shown``: files of images and the like, without their queries.
    """

    stretches: tuple[str, ...]
    shown: frozenset[str]

    def signature(self) -> tuple[int, ...]:
        """A few numbers: the first stands for the whole, of the others pages that say the same have most in common.
        Empty for a page that says nothing.
        """
        said = sorted(map(fingerprint, {*self.stretches, *self.shown}))
        return (hash(tuple(said)), *islice(said, _SIGNATURE)) if said else ()


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say the same."""
    return one[:1] == other[:1] != ()


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same, as far as a sample can tell."""
    return 10 * len({*one[1:]} & {*other[1:]}) >= 9 * (max(len(one), len(other)) - 1) > 0


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
    return number if _TELLING.fullmatch(number) and not _DAY_AND_MONTH.fullmatch(number) else "#"


def _without(text: str, begin: str, end: str) -> str:
    """Take out what lies between two marks; without an end mark all the rest."""
    parts, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = text.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
        # What is left of an end tag is one; of the end of a comment it would be text.
        at += len(end) if end == _COMMENT_END else 0
    parts.append(text[at:])
    return " ".join(parts)
