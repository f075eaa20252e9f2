"""Session finder: finds parts of URLs that do not change the page, such as numbers by which a server identifies
visitors.

Pages are compared whose URLs differ only in their session. Pages may print the session, and random words: then the
content beside the template has to be more similar between visits of the same page than between different pages, and
more such pages are needed. If the template contains no noise, only the words themselves are compared.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from webcrawl.features.traps.novelty import Pair, Shingles, Template, alike, same
from webcrawl.features.traps.parameters import SAMPLES, Evidence, pages
from webcrawl.features.traps.pattern import PATH_SESSION, Shape, is_session_name
from webcrawl.urls.fingerprint import fingerprint, fingerprint_all

BASES_MAX = 100_000
"""Maximum number of remembered pages whose URLs have a session, 10 MB at most."""
PAGES_MAX = 20_000
"""Maximum number of pages whose content is remembered, 1 KB each."""
NAMES_MAX = 10_000
KINDS_MAX = 32
EQUAL_LEAST = 3
"""Minimum number of pages that were the same as before under another session."""
TIMES_AS_OFTEN = 4
"""Pages have to be the same so many times as often as different."""
PAGES_LEAST = 3
"""Minimum number of distinct pages that were the same, if the name is no known session name."""
EQUAL_MANY = 20
"""Alternative to ``PAGES_LEAST``: so many comparisons of fewer distinct pages."""
CLOSE_PAGES_LEAST, CLOSE_MANY = 8, 80
"""The two limits above, for pages that were not equal word by word."""
HOPELESS = 8
"""Number of pages that differed after which a name is no longer compared, if they outnumber those that
were the same."""
UNCLEAR_MANY = 16
"""The second limit for pages without content beside the template, if none was the same."""
SAMPLE = 48
"""Number of word pairs remembered of a page."""
OWN_LEAST = 4
"""Minimum number of these that are not part of the template; with fewer the comparison is unclear."""
CLOSE_SHARE, CLOSE_SHARE_ALONE = 0.15, 0.4
"""Minimum share of common content beside the template, noise included; the second if there is no other page to
compare with."""
TIMES_AS_ALIKE = 2.5
"""A page has to be so many times as similar to its earlier visit as to other pages."""
OTHERS = 3


class Comparison(StrEnum):
    """Result of comparing a page with the one that was fetched under another session."""

    SAME = "same"
    """Equal word by word."""
    CLOSE = "close"
    """Equal except for parts of URLs or random words that the page prints."""
    BUT_NUMBERS = "but numbers"
    """Equal except for numbers, as pages with a counter or with measurements are."""
    DIFFERENT = "different"
    UNCLEAR = "unclear"


class SessionVisit(NamedTuple):
    """A fetched page with a session in its URL."""

    base: int
    """The base of the URL, see ``Shape.base``."""
    results: dict[str, Comparison]
    """The results by the name of the session, for sessions of which the page was compared with an earlier visit."""


@dataclass(slots=True)
class _Name:
    """Counts of the results of all comparisons under different sessions of this name."""

    equal: int = 0
    close: int = 0
    counting: int = 0
    """Pages that were the same except for numbers; they are evidence only if there are many."""
    different: int = 0
    unclear: int = 0
    bases: set[int] = field(default_factory=set)
    """Bases of pages that were the same."""
    close_bases: set[int] = field(default_factory=set)
    """The bases of equal pages, and of pages that were close."""
    samples: list[str] = field(default_factory=list)

    def add(self, result: Comparison, base: int) -> bool:
        """Count a result; return whether the page was the same."""
        if result is Comparison.UNCLEAR:
            self.unclear += 1
        elif result is Comparison.DIFFERENT:
            self.different += 1
        else:
            self.equal += result is Comparison.SAME
            self.close += result is Comparison.CLOSE
            self.counting += result is Comparison.BUT_NUMBERS
            if result is Comparison.SAME and len(self.bases) < PAGES_LEAST:
                self.bases.add(base)
            if len(self.close_bases) < CLOSE_PAGES_LEAST:
                self.close_bases.add(base)
            return True
        return False

    @property
    def is_hopeless(self) -> bool:
        same = self.equal + self.close + self.counting
        return (self.different >= HOPELESS and self.different > same) or (
            self.unclear >= UNCLEAR_MANY and not same
        )


@dataclass(frozen=True, slots=True)
class _SessionContent:
    """Content of a page: its signature, a fingerprint of all its words, and a sample of its word pairs."""

    signature: tuple[int, ...]
    words: int
    sample: array[int]


class _Kind:
    """Common content of all pages that have sessions of the same names."""

    def __init__(self) -> None:
        self.template = Template()
        self.last: deque[tuple[int, _SessionContent]] = deque(maxlen=OTHERS)
        """The most recent pages, with their bases."""
        self._usual: frozenset[Pair] = frozenset()
        self._fingerprints: frozenset[int] = frozenset()

    def usual_pairs(self) -> frozenset[int]:
        """Return fingerprints of the word pairs that most of these pages have."""
        usual = self.template.usual
        if usual is not self._usual:
            self._usual = usual
            self._fingerprints = frozenset(fingerprint_all([" ".join(pair[:2]) for pair in usual]))
        return self._fingerprints

    def likeness(self, base: int, content: _SessionContent) -> float | None:
        """Return the highest similarity of the page to the most recent pages of other bases; None if
        there are none.
        """
        likenesses = [_likeness(content, other, self.usual_pairs()) for of, other in self.last if of != base]
        return max((likeness for likeness in likenesses if likeness is not None), default=None)


class SessionComparison:
    """Compares pages whose URLs differ only in their sessions."""

    def __init__(self) -> None:
        self._bases: OrderedDict[int, None] = OrderedDict()
        self._contents: OrderedDict[int, _SessionContent] = OrderedDict()
        self._names: OrderedDict[str, _Name] = OrderedDict()
        self._kinds: OrderedDict[tuple[str, ...], _Kind] = OrderedDict()
        self._places: OrderedDict[str, None] = OrderedDict()
        """Hosts, with their ports, of which a page was the same under another session."""

    def are_on(self, place: str) -> bool:
        """Return whether any page of a host, given with its port, was the same under another session."""
        return place in self._places

    def take(self, shape: Shape, visit: SessionVisit) -> None:
        """Take over a visit of another process, given the shape of its URL."""
        self._fetched(visit.base)
        for name, result in visit.results.items():
            self._add(shape, name, result, visit.base)

    def _add(self, shape: Shape, name: str, result: Comparison, base: int) -> bool:
        """Count a result; return whether the page was the same."""
        is_same = self._name(shape.of_session(name)).add(result, base)
        if is_same:
            self._places[shape.place] = None
            if len(self._places) > NAMES_MAX:
                self._places.popitem(last=False)
        return is_same

    def has(self, base: int) -> bool:
        """Return whether the page of this base was fetched already, under any session."""
        return base in self._bases

    def seen(
        self, shape: Shape, url: str, shingles: Callable[[], Shingles | None], settled: bool
    ) -> tuple[list[Evidence], SessionVisit]:
        """Evaluate a fetched page with a session in its URL; return the evidence it completes, and what was learned.
        ``settled``: the session is already known to change nothing. ``shingles`` returns None if the page may not be
        read."""
        base, results = shape.base(), dict[str, Comparison]()
        visit = SessionVisit(base, results)
        self._fetched(base)
        names = {name: self._name(shape.of_session(name)) for name in shape.sessions}
        if settled or all(statistics.is_hopeless for statistics in names.values()):
            return [], visit
        read = shingles()
        words = [] if read is None else read.words()
        if read is None or not words:
            return [], visit
        kind = self._kind((shape.place, *shape.sessions))
        kind.template.take(words)
        now, before = _session_content(read, words, kind.usual_pairs()), self._contents.get(base)
        kind.last.append((base, now))
        if before is None:
            self._remember(base, now)
            return [], visit
        result = _compare(base, before, now, kind)
        if result in (Comparison.UNCLEAR, Comparison.DIFFERENT):
            # The remembered content may date from before the template was known, or from an atypical visit.
            self._remember(base, now)
        evidence = []
        for name, statistics in names.items():
            results[name] = _by_name(result, name, before, now)
            if not self._add(shape, name, results[name], base):
                continue
            if len(statistics.samples) < SAMPLES:
                statistics.samples.append(url)
            if _is_void(name, statistics):
                total = statistics.equal + statistics.close + statistics.counting
                why = f"{pages(total)} had the same content with another {_called(name)}"
                evidence.append(
                    Evidence(
                        shape.of_session(name), why, total + statistics.different, tuple(statistics.samples)
                    )
                )
        return evidence, visit

    def _fetched(self, base: int) -> None:
        self._bases[base] = None
        self._bases.move_to_end(base)
        if len(self._bases) > BASES_MAX:
            self._bases.popitem(last=False)

    def _remember(self, base: int, content: _SessionContent) -> None:
        self._contents[base] = content
        self._contents.move_to_end(base)
        if len(self._contents) > PAGES_MAX:
            self._contents.popitem(last=False)

    def _kind(self, names: tuple[str, ...]) -> _Kind:
        kind = self._kinds.setdefault(names, _Kind())
        self._kinds.move_to_end(names)
        if len(self._kinds) > KINDS_MAX:
            self._kinds.popitem(last=False)
        return kind

    def _name(self, pattern: str) -> _Name:
        statistics = self._names.setdefault(pattern, _Name())
        self._names.move_to_end(pattern)
        if len(self._names) > NAMES_MAX:
            self._names.popitem(last=False)
        return statistics


def _session_content(shingles: Shingles, words: list[str], usual: frozenset[int]) -> _SessionContent:
    """Return the content of a page. The smallest fingerprints are the sample, so that samples of two pages overlap as
    the pages do."""
    pairs = set(fingerprint_all(list(map(" ".join, pairwise(words)))))
    return _SessionContent(
        shingles.signature(), fingerprint(" ".join(words)), array("q", sorted(pairs - usual)[:SAMPLE])
    )


def _compare(base: int, before: _SessionContent, now: _SessionContent, kind: _Kind) -> Comparison:
    if before.words == now.words:
        return Comparison.SAME if same(before.signature, now.signature) else Comparison.CLOSE
    if same(before.signature, now.signature):
        return Comparison.BUT_NUMBERS
    if kind.template.is_noisy is None:
        return Comparison.UNCLEAR
    if not kind.template.is_noisy:
        return Comparison.DIFFERENT
    likeness = _likeness(before, now, kind.usual_pairs())
    if likeness is None:
        return Comparison.UNCLEAR
    usual = kind.likeness(base, now)
    least = CLOSE_SHARE_ALONE if usual is None else max(CLOSE_SHARE, TIMES_AS_ALIKE * usual)
    return Comparison.CLOSE if likeness >= least else Comparison.DIFFERENT


def _likeness(one: _SessionContent, other: _SessionContent, usual: frozenset[int]) -> float | None:
    """Return the share of common content of two pages outside the template; None if there is too little of it."""
    # A full sample contains no fingerprint above its largest.
    full = [content.sample[-1] for content in (one, other) if len(content.sample) == SAMPLE]
    most = min(full) if full else None
    left, right = (
        {pair for pair in content.sample if pair not in usual and (most is None or pair <= most)}
        for content in (one, other)
    )
    least = min(len(left), len(right))
    return None if least < OWN_LEAST else len(left & right) / least


def _by_name(result: Comparison, name: str, before: _SessionContent, now: _SessionContent) -> Comparison:
    """Return the result for a session of this name: one that servers use needs no equal words."""
    is_alike = is_session_name(name) and alike(before.signature, now.signature)
    return Comparison.SAME if is_alike else result


def _is_void(name: str, statistics: _Name) -> bool:
    total = statistics.equal + statistics.close
    if total + statistics.counting < max(EQUAL_LEAST, TIMES_AS_OFTEN * statistics.different):
        return False
    if is_session_name(name):
        return True
    if statistics.equal >= EQUAL_LEAST and (
        len(statistics.bases) >= PAGES_LEAST or statistics.equal >= EQUAL_MANY
    ):
        return True
    return len(statistics.close_bases) >= CLOSE_PAGES_LEAST or total >= CLOSE_MANY


def _called(name: str) -> str:
    return "path segment" if name.endswith(PATH_SESSION) else f"value of {name.lstrip(';')}"
