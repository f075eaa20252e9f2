"""What a page says, as a set of numbers: groups of three words from one stretch of text, and the files it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

LOOKED_AT = 1 << 16
"""Characters of a page that are looked at."""
TOKEN_LENGTH = 8

_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"\d+[.,]\d+|\w+")
_DIGITS = re.compile(r"\d+")
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>?#;]{1,500})",
    re.IGNORECASE,
)
_SHOWN_MAX = 200
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Wording:
    """``groups``: of words as they follow each other; ``words``: single ones with letters; ``shown``: files of images
    and the like, without their queries. Numbers are all alike but for decimal ones, and so are long tokens.
    """

    groups: frozenset[int]
    words: frozenset[int]
    shown: frozenset[int]

    def signature(self) -> tuple[int, ...]:
        """A few numbers of which pages that say the same have most in common; empty for a page that says nothing."""
        return tuple(islice(sorted(self.groups | self.shown), 16))


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same."""
    return 5 * len(set(one) & set(other)) >= 4 * max(len(one), len(other)) > 0


def wording_of(body: bytes, encoding: str) -> Wording:
    """``encoding``: a codec of Python. No body makes it raise."""
    text = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT]
    for begin, end in _UNSEEN:
        text = _without(text, begin, end)
    shown = (match[1] for match in islice(_SHOWN.finditer(text), _SHOWN_MAX))
    groups: set[int] = set()
    words: set[str] = set()
    for stretch in _TAG.split(text):
        if stretch and not stretch.isspace():
            found = [word if word.isalpha() else _folded(word) for word in _WORD.findall(stretch.lower())]
            words.update(found)
            if len(found) > 3:
                groups.update(map(hash, zip(found, found[1:], found[2:], strict=False)))
            elif found:
                groups.add(hash(tuple(found)))
    telling = (hash(word) for word in words if len(word) > 2 and word.isalpha())
    return Wording(frozenset(groups), frozenset(telling), frozenset(map(hash, shown)))


def _folded(word: str) -> str:
    if word.isdigit() or _DAY_AND_MONTH.fullmatch(word):
        return "#"
    if "." in word or "," in word:
        # A measurement or a price says something that a count, a date or the number of a page does not.
        return word
    return "*" if len(word) >= TOKEN_LENGTH else _DIGITS.sub("#", word)


def _without(text: str, begin: str, end: str) -> str:
    """Take out what lies between two marks; without an end mark all the rest."""
    low = text.lower()
    if len(low) != len(text) or begin not in low:
        # Lower case may be longer than upper case, in few scripts.
        return text
    parts, at = [], 0
    while (start := low.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = low.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
    parts.append(text[at:])
    return " ".join(parts)
