"""How much of what a page says was not said by others of its kind: a sketch in bounded memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.traps.wording import Wording

SLOTS = 1 << 15
"""Bytes of each of the two generations of a sketch."""
FULL_AT = 6_000
"""Slots in use when a new generation begins: by then one in six that is asked for is in use by chance."""
SHOWN_WEIGHT = 5
"""How many groups of words a file counts for that was not shown before."""
ENOUGH = 400
"""New groups of words after which the rest of a page is not looked at."""
_WORD = re.compile(r"[\w#.,]*[\w#]")
TELLING = 3
"""Characters of a word that says something by itself."""
_NOTHING = bytes(SLOTS)


class News(NamedTuple):
    """``share``: of what a page says, that is new; ``words``: how many of its words are new by themselves."""

    share: float
    words: int


class Sketch:
    """What a kind of pages said lately: stretches of text, groups of three words, words, and files."""

    def __init__(self) -> None:
        self._young = bytearray(SLOTS)
        # Most sketches never get so far that they need one of their own.
        self._old: bytes | bytearray = _NOTHING
        self._used = 0

    def take(self, wording: Wording) -> News:
        """Add a page; what of it is new. A page that says nothing says nothing new."""
        total = new = words = 0
        for stretch in wording.stretches:
            mark = fingerprint(stretch)
            # One place may be in use by chance, three seldom are.
            if not self._add((mark, mark // SLOTS, mark // SLOTS**2)):
                # All of it was said in one go before.
                total += max(stretch.count(" ") - 1, 1)
                continue
            found = _WORD.findall(stretch) or [stretch]
            marks = list(map(fingerprint, found))
            groups = set(map(hash, zip(marks, marks[1:], marks[2:], strict=False))) or {hash(tuple(marks))}
            total += len(groups)
            new += self._add(groups)
            words += self._add(
                {mark for word, mark in zip(found, marks, strict=True) if len(word) >= TELLING}
            )
            if new >= ENOUGH:
                break
        new += SHOWN_WEIGHT * self._add(map(fingerprint, wording.shown))
        total += SHOWN_WEIGHT * len(wording.shown)
        if self._used > FULL_AT:
            self._old, self._young, self._used = self._young, bytearray(SLOTS), 0
        return News(new / total if total else 0.0, words)

    def _add(self, hashes: Iterable[int]) -> int:
        """How many of them are new."""
        young, old, new = self._young, self._old, 0
        for value in hashes:
            slot = value % SLOTS
            if not young[slot]:
                young[slot] = 1
                self._used += 1
                new += not old[slot]
        return new
