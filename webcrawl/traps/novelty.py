"""How much of what a page says was not said by others of its kind: a sketch in bounded memory, and the template.

Sites print noise: the number that was asked for, the session, words drawn at random. Such words are new and no news.
So parts of URLs count as one word wherever they stand, and a word that stands where the template has another one is
not counted.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.traps.wording import folded, words_in
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.traps.wording import Wording

BITS = 15
SLOTS = 1 << BITS
"""Bytes of each of the two generations of a sketch."""
LAST = SLOTS - 1
FULL_AT = 6_000
"""Slots in use when a new generation begins: by then one in six that is asked for is in use by chance."""
SHOWN_WEIGHT = 5
"""How many groups of words a file counts for that was not shown before."""
ENOUGH = 400
"""New groups of words after which the rest of a page is not looked at."""
TELLING = 3
"""Characters of a word that says something by itself."""
MARKS_MAX, MARKED_LENGTH = 20_000, 30
"""So many words are remembered with their fingerprints, if they are not longer; 4 MB."""
_NOTHING = bytes(SLOTS)
GROUP = 3
USUAL_SHARE = 0.6
"""Of the pages that were looked at, that have a pair of words: then it belongs to the template."""
LEARN_FIRST, LEARN_EVERY = 4, 8
"""Pages after which the template is made out for the first time, and again and again."""
TEMPLATE_SHARE = 0.2
"""Of what a page says, that its template is at least: what pages have in common by chance is none."""
NOISY_SHARE = 0.15
"""Of the pairs of a template, that one of these pages did not have: then noise stands in its place, for what pages
have of their own stands in the same few places of each.
"""
MISSING_MAX = 0.5
"""A page that has less of the template has another one."""
WHOLE_SHARE = 0.3
"""Of these pages, at most, that had all of a template that is strewn with noise."""
UNSEEN_SHARE = 0.25
"""For each pair of words that is missing: so many others may be noise that is not seen to be."""
PAIRS_MAX = 8_000
"""Pairs that are counted; beyond it those are forgotten that one page had."""
KNOWN_MAX = 20_000

Pair = tuple[str, str] | tuple[str, str, int]
"""Two words that stand side by side, and how many such pairs stand before them, if any."""


class News(NamedTuple):
    """``share``: of what a page says, that is new; ``words``: how many of its words are new by themselves;
    ``files``: how many of those that it shows.
    """

    share: float
    words: int
    files: int = 0


class Sketch:
    """What a kind of pages said lately: stretches of text, groups of three words, words, and files."""

    def __init__(self) -> None:
        self._young = bytearray(SLOTS)
        # Most sketches never get so far that they need one of their own.
        self._old: bytes | bytearray = _NOTHING
        self._used = 0

    def take(self, wording: Wording, noise: frozenset[str] = frozenset()) -> News:
        """Add a page; what of it is new. ``noise``: words that are no news, nor what they stand in. A page that says
        nothing says nothing new.
        """
        total = new = words = 0
        young = self._young
        for stretch in wording.each_stretch():
            mark = _MARKS[stretch]
            # One place may be in use by chance, three seldom are.
            is_known = young[mark & LAST] and young[mark >> BITS & LAST] and young[mark >> 2 * BITS & LAST]
            if is_known or not self._add((mark, mark >> BITS, mark >> 2 * BITS)):
                # All of it was said in one go before.
                total += max(stretch.count(" ") - 1, 1)
                continue
            found = wording.without_echoes(words_in(stretch) or [stretch])
            marks = list(map(_MARKS.__getitem__, found))
            groups = set(map(hash, zip(marks, marks[1:], marks[2:], strict=False))) or {hash(tuple(marks))}
            total += len(groups)
            telling = {mark for word, mark in zip(found, marks, strict=True) if len(word) >= TELLING}
            if not noise.isdisjoint(found):
                groups = _groups_without(noise, found, marks)
                telling.difference_update(map(_MARKS.__getitem__, noise))
            new += self._add(groups)
            words += self._add(telling)
            if new >= ENOUGH:
                break
        files = self._add(map(fingerprint, wording.shown))
        new += SHOWN_WEIGHT * files
        total += SHOWN_WEIGHT * len(wording.shown)
        if self._used > FULL_AT:
            self._old, self._young, self._used = self._young, bytearray(SLOTS), 0
        return News(new / total if total else 0.0, words, files)

    def _add(self, hashes: Iterable[int]) -> int:
        """How many of them are new."""
        young, old, new, used = self._young, self._old, 0, 0
        for value in hashes:
            slot = value & LAST
            if not young[slot]:
                young[slot] = 1
                used += 1
                new += not old[slot]
        self._used += used
        return new


class _Marks(dict[str, int]):
    """Fingerprints of words and short stretches, remembered: most stand on page after page."""

    def __missing__(self, word: str) -> int:
        mark = fingerprint(word)
        if len(word) <= MARKED_LENGTH:
            if len(self) >= MARKS_MAX:
                self.clear()
            self[word] = mark
        return mark


_MARKS = _Marks()


def _groups_without(noise: frozenset[str], words: list[str], marks: list[int]) -> set[int]:
    """The groups of a stretch that no noise stands in."""
    if len(words) < GROUP:
        return set()
    return {
        hash(tuple(marks[at : at + GROUP]))
        for at in range(len(words) - GROUP + 1)
        if noise.isdisjoint(words[at : at + GROUP])
    }


class Likeness(NamedTuple):
    """A page beside the template of its kind. ``noise``: words that stand where the template has others, with their
    numbers as in stretches.
    """

    noise: frozenset[str] = frozenset()
    is_hollow: bool = False
    """Whether it says nothing but what the template says, and noise."""
    unseen: int = 0
    """Words more that may be noise."""


def _pairs_of(words: Sequence[str]) -> set[Pair]:
    """Words that stand side by side; a pair that is there again is another one."""
    counts = Counter(pairwise(words))
    pairs: set[Pair] = set(counts)
    again = [(pair, count) for pair, count in counts.items() if count > 1]
    pairs.update((*pair, at) for pair, count in again for at in range(1, count))
    return pairs


class Template:
    """What the pages of a kind have in common, word after word, as it was in the last few that were looked at."""

    def __init__(self) -> None:
        self.is_noisy: bool | None = None
        """Whether its pages are strewn with other words; None as long as too few were looked at."""
        self._pages = self._whole = 0
        self._counts: Counter[Pair] = Counter()
        self._usual: frozenset[Pair] = frozenset()
        self._known: set[int] = set()
        """Pairs that two pages had, where there is noise: by chance not each of a template's is usual."""

    @property
    def usual(self) -> frozenset[Pair]:
        """The pairs of words that most pages have."""
        return self._usual

    def take(self, words: Sequence[str]) -> Likeness:
        """Add a page, and compare it with those before."""
        pairs = _pairs_of(words)
        likeness = self._compare(pairs)
        self._learn(pairs)
        return likeness

    def _compare(self, pairs: set[Pair]) -> Likeness:
        usual = self._usual
        missing = usual - pairs
        self._whole += not missing
        if not usual or len(missing) > MISSING_MAX * len(usual):
            return Likeness()
        strange = pairs - usual
        if not self.is_noisy:
            return Likeness(is_hollow=not strange)
        before, behind = {pair[0] for pair in missing}, {pair[1] for pair in missing}
        noise = {pair[1] for pair in strange if pair[0] in before}
        noise |= {pair[0] for pair in strange if pair[1] in behind}
        others = [pair for pair in strange if noise.isdisjoint(pair[:2])]
        unknown = sum(hash(pair) not in self._known for pair in others)
        # Where two of them stand side by side they are not told from what is new.
        unseen = int(UNSEEN_SHARE * len(missing))
        return Likeness(folded(noise), unknown <= unseen, unseen)

    def _learn(self, pairs: set[Pair]) -> None:
        self._pages += 1
        self._counts.update(pairs)
        if len(self._counts) > PAIRS_MAX:
            self._counts = Counter({pair: count for pair, count in self._counts.items() if count > 1})
        is_young = self.is_noisy is None
        if self._pages < LEARN_EVERY and not (is_young and self._pages == LEARN_FIRST):
            return
        least = USUAL_SHARE * self._pages
        usual = [pair for pair, count in self._counts.items() if count >= least]
        if self._pages == LEARN_EVERY:
            # Pages of two templates, or with a part that some do not have, are whole for the most part.
            broken = sum(self._counts[pair] < self._pages for pair in usual)
            compared = self._pages - LEARN_FIRST if is_young else self._pages
            self.is_noisy = (
                len(usual) >= TEMPLATE_SHARE * self._counts.total() / self._pages
                and broken >= NOISY_SHARE * len(usual)
                and self._whole <= WHOLE_SHARE * compared
            )
            if self.is_noisy:
                self._known.update(hash(pair) for pair, count in self._counts.items() if count > 1)
                if len(self._known) > KNOWN_MAX:
                    self._known.clear()
            self._pages = 0
            self._counts.clear()
        self._whole = 0
        self._usual = frozenset(usual)
