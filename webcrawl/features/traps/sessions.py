"""Parts of URLs that change nothing of the page: the numbers by which a server tells its visitors apart.

Pages are compared that differ in their session alone. They may print it, and other words at random: then what each
says beside the template has to be more alike to itself than to other pages, and more of such pages are asked for.
Where a template is not strewn with other words, nothing but the words themselves counts.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise

from webcrawl.features.traps.novelty import Pair, Shingles, Template, alike, same
from webcrawl.features.traps.parameters import SAMPLES, Evidence
from webcrawl.features.traps.pattern import PATH_SESSION, Shape, is_session_name
from webcrawl.urls.fingerprint import fingerprint, fingerprint_all

BASES_MAX = 100_000
"""Pages whose URLs have a session: so many are remembered, 10 MB at most."""
PAGES_MAX = 20_000
"""Of so many it is remembered what they said, 1 KB each."""
NAMES_MAX = 10_000
KINDS_MAX = 32
EQUAL_LEAST = 3
"""Pages that were the same as before under another session."""
TIMES_AS_OFTEN = 4
"""So many times as often they have to be the same as not."""
PAGES_LEAST = 3
"""Different pages of which that was so, where the name says nothing."""
EQUAL_MANY = 20
"""Or so often of fewer."""
CLOSE_PAGES_LEAST, CLOSE_MANY = 8, 80
"""Likewise where pages were not the same word by word."""
HOPELESS = 8
"""Pages that were not the same, after which nothing more is compared."""
UNCLEAR_MANY = 16
"""Likewise of those that say nothing beside the template."""
SAMPLE = 48
"""Pairs of words that are remembered of a page."""
OWN_LEAST = 4
"""Of these, that are no part of the template: of fewer nothing can be told."""
CLOSE_SHARE, CLOSE_SHARE_ALONE = 0.15, 0.4
"""Of what a page says beside the template, noise included; more where there is no other page to compare with."""
TIMES_AS_ALIKE = 2.5
"""So many times as alike as to other pages it has to be."""
OTHERS = 3


class _Answer(Enum):
    """What a page is to the one that was fetched under another session."""

    SAME = auto()
    """Word by word."""
    CLOSE = auto()
    """But for what is printed of the URLs, or at random."""
    BUT_NUMBERS = auto()
    """As a page with a counter, or one of measurements."""
    DIFFERENT = auto()
    UNCLEAR = auto()


@dataclass(slots=True)
class _Name:
    """How often pages were what to each other under another session of this name."""

    equal: int = 0
    close: int = 0
    counting: int = 0
    """Those that were the same but for numbers: only where it is so of many pages it proves anything."""
    different: int = 0
    unclear: int = 0
    bases: set[int] = field(default_factory=set)
    """Of pages that were the same."""
    close_bases: set[int] = field(default_factory=set)
    """Of these, and of those that were close."""
    samples: list[str] = field(default_factory=list)

    @property
    def is_hopeless(self) -> bool:
        same = self.equal + self.close + self.counting
        return (self.different >= HOPELESS and self.different > same) or (
            self.unclear >= UNCLEAR_MANY and not same
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """What a page said: its signature, all of its words as one number, and a sample of its pairs of words."""

    signature: tuple[int, ...]
    words: int
    sample: array[int]


class _Kind:
    """What all pages say that have a session of the same names."""

    def __init__(self) -> None:
        self.template = Template()
        self.last: deque[tuple[int, _Said]] = deque(maxlen=OTHERS)
        """The last pages, by their bases."""
        self._usual: frozenset[Pair] = frozenset()
        self._marks: frozenset[int] = frozenset()

    def marks(self) -> frozenset[int]:
        """Fingerprints of the pairs of words that most of them have."""
        usual = self.template.usual
        if usual is not self._usual:
            self._usual = usual
            self._marks = frozenset(fingerprint_all([" ".join(pair[:2]) for pair in usual]))
        return self._marks

    def likeness(self, base: int, said: _Said) -> float | None:
        """How alike the last pages of other bases are to one; None where there are none."""
        found = [_likeness(said, other, self.marks()) for of, other in self.last if of != base]
        return max((one for one in found if one is not None), default=None)


class Sessions:
    """Compares pages whose URLs differ in their sessions alone."""

    def __init__(self) -> None:
        self._bases: OrderedDict[int, None] = OrderedDict()
        self._said: OrderedDict[int, _Said] = OrderedDict()
        self._names: OrderedDict[str, _Name] = OrderedDict()
        self._kinds: OrderedDict[tuple[str, ...], _Kind] = OrderedDict()

    def has(self, base: int) -> bool:
        """Whether the page of this base was fetched already, under whatever session."""
        return base in self._bases

    def seen(
        self, shape: Shape, url: str, wording: Callable[[], Shingles | None], settled: bool
    ) -> list[Evidence]:
        """A page with a session in its URL was fetched; what that proves. ``settled``: it is known already that the
        session changes nothing. ``wording`` gives None where the page may not be read.
        """
        base = shape.base()
        self._fetched(base)
        names = {name: self._name(shape.of_session(name)) for name in shape.sessions}
        if settled or all(one.is_hopeless for one in names.values()):
            return []
        read = wording()
        words = [] if read is None else read.words()
        if read is None or not words:
            return []
        kind = self._kind((shape.place, *shape.sessions))
        kind.template.take(words)
        now, before = _said_by(read, words, kind.marks()), self._said.get(base)
        kind.last.append((base, now))
        if before is None:
            self._remember(base, now)
            return []
        answer = _compare(base, before, now, kind)
        if answer in (_Answer.UNCLEAR, _Answer.DIFFERENT):
            # What was remembered may have been written when the template was not known, or by an odd visit.
            self._remember(base, now)
        found = []
        for name, one in names.items():
            if not _count(one, answer, base, name, before, now):
                continue
            if len(one.samples) < SAMPLES:
                one.samples.append(url)
            if _is_void(name, one):
                total = one.equal + one.close + one.counting
                why = f"{total} pages said the same under another {_called(name)}"
                found.append(Evidence(shape.of_session(name), why, total + one.different, tuple(one.samples)))
        return found

    def _fetched(self, base: int) -> None:
        self._bases[base] = None
        self._bases.move_to_end(base)
        if len(self._bases) > BASES_MAX:
            self._bases.popitem(last=False)

    def _remember(self, base: int, said: _Said) -> None:
        self._said[base] = said
        self._said.move_to_end(base)
        if len(self._said) > PAGES_MAX:
            self._said.popitem(last=False)

    def _kind(self, names: tuple[str, ...]) -> _Kind:
        one = self._kinds.setdefault(names, _Kind())
        self._kinds.move_to_end(names)
        if len(self._kinds) > KINDS_MAX:
            self._kinds.popitem(last=False)
        return one

    def _name(self, pattern: str) -> _Name:
        one = self._names.setdefault(pattern, _Name())
        self._names.move_to_end(pattern)
        if len(self._names) > NAMES_MAX:
            self._names.popitem(last=False)
        return one


def _said_by(wording: Shingles, words: list[str], usual: frozenset[int]) -> _Said:
    """The smallest fingerprints are the sample, so that two pages have in common there what they have in common."""
    marks = set(fingerprint_all(list(map(" ".join, pairwise(words)))))
    return _Said(
        wording.signature(), fingerprint(" ".join(words)), array("q", sorted(marks - usual)[:SAMPLE])
    )


def _compare(base: int, before: _Said, now: _Said, kind: _Kind) -> _Answer:
    if before.words == now.words:
        return _Answer.SAME if same(before.signature, now.signature) else _Answer.CLOSE
    if same(before.signature, now.signature):
        return _Answer.BUT_NUMBERS
    if kind.template.is_noisy is None:
        return _Answer.UNCLEAR
    if not kind.template.is_noisy:
        return _Answer.DIFFERENT
    likeness = _likeness(before, now, kind.marks())
    if likeness is None:
        return _Answer.UNCLEAR
    usual = kind.likeness(base, now)
    least = CLOSE_SHARE_ALONE if usual is None else max(CLOSE_SHARE, TIMES_AS_ALIKE * usual)
    return _Answer.CLOSE if likeness >= least else _Answer.DIFFERENT


def _likeness(one: _Said, other: _Said, usual: frozenset[int]) -> float | None:
    """How much two pages have in common of what is no part of the template; None where there is next to nothing."""
    # A sample that is full tells nothing of what lies above its largest number.
    full = [said.sample[-1] for said in (one, other) if len(said.sample) == SAMPLE]
    most = min(full) if full else None
    left, right = (
        {mark for mark in said.sample if mark not in usual and (most is None or mark <= most)}
        for said in (one, other)
    )
    least = min(len(left), len(right))
    return None if least < OWN_LEAST else len(left & right) / least


def _count(one: _Name, answer: _Answer, base: int, name: str, before: _Said, now: _Said) -> bool:
    """Enter an answer; whether the page was the same."""
    if answer is not _Answer.SAME and is_session_name(name) and alike(before.signature, now.signature):
        answer = _Answer.SAME
    if answer is _Answer.UNCLEAR:
        one.unclear += 1
    elif answer is _Answer.DIFFERENT:
        one.different += 1
    else:
        one.equal += answer is _Answer.SAME
        one.close += answer is _Answer.CLOSE
        one.counting += answer is _Answer.BUT_NUMBERS
        if answer is _Answer.SAME and len(one.bases) < PAGES_LEAST:
            one.bases.add(base)
        if len(one.close_bases) < CLOSE_PAGES_LEAST:
            one.close_bases.add(base)
        return True
    return False


def _is_void(name: str, one: _Name) -> bool:
    total = one.equal + one.close
    if total + one.counting < max(EQUAL_LEAST, TIMES_AS_OFTEN * one.different):
        return False
    if is_session_name(name):
        return True
    if one.equal >= EQUAL_LEAST and (len(one.bases) >= PAGES_LEAST or one.equal >= EQUAL_MANY):
        return True
    return len(one.close_bases) >= CLOSE_PAGES_LEAST or total >= CLOSE_MANY


def _called(name: str) -> str:
    return "segment" if name.endswith(PATH_SESSION) else name.lstrip(";")
