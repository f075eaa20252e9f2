"""The judge of patterns: which of them bring nothing new, and by their shape will never come to an end.

Pages are counted by pattern. What a page says is looked at only once its pattern has several, and the less often the
longer it goes on bringing something new, and all in all no more of them than the budget allows. A page is barren when
it says next to nothing that others of its path did not say, and leads to no URL that is new and of another kind.
Barren pages in a row are the evidence; how many are needed depends on how the URLs were found and what they look
like. Nothing here asks for the time.

What a page that brings nothing new counts for against its pattern.

Much for URLs that grow out of each other, as no finite set of pages does for long; nothing where it may be chance. A
pattern is guilty at ``POINTS``, and pages in a row are all that counts.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from webcrawl.features.traps.novelty import LEARN_EVERY, Likeness, News, Shingles, Sketch, Template
from webcrawl.features.traps.parameters import Evidence, PathRecord
from webcrawl.features.traps.pattern import (
    DEEP,
    REPEATED,
    Shape,
    is_paging_name,
    place_and_segments,
    shape_of,
)
from webcrawl.features.traps.url_shape import (
    Dated,
    UrlRelation,
    are_days_apart,
    dated,
    extends,
    follows,
    has_id,
    may_be_days_apart,
    names_a_date,
    stem_of,
    url_relation,
)

POINTS = 60
REPEATS = 10.0
"""Six pages of a path that says a segment again, each below one that brought nothing new either."""
COMBINES = 5.0
"""Twelve of combinations of parameters."""
DEEPENS = 3.0
CHAIN_LEAST = 2
"""Twenty pages that are deeper than one that brought nothing new either."""
PERIOD = 6.0
"""Ten months."""
DAY = 3.0
"""Twenty days, or dates found elsewhere: days without anything are many."""
ONE_PARAMETER = 3.0
NUMBERED = 0.02
"""Three thousand that differ in a number alone, in the path or in one parameter: a site whose pages have next to no
text looks the same, and is no trap."""
HOLLOW = 0.75
"""Eighty, where the numbers are drawn from a wide range and each page says the same as all: none is missed for long
if it did not exist."""
REPEATS_FROM = 5
"""Segments of a path from which on it counts that it says one again: trees of folders with short names do so too."""
WITHOUT_ISSUE = 0.0
"""Pages that lead to no further page of their kind come to an end by themselves."""


@dataclass(frozen=True, slots=True)
class UninformativePage:
    """A page that brought nothing new.

    ``pattern``: under which it is judged; ``breeds``: whether it leads to new URLs of its own kind; ``chain``: how
    many such pages led to each other up to this one; ``is_hollow``: whether it says what all of its kind say, under
    a number drawn from a wide range; ``numbers_are_ids`` as for ``dated``.
    """

    shape: Shape
    pattern: str
    via: str | None
    breeds: bool
    chain: int
    is_hollow: bool = False
    numbers_are_ids: bool = False


def points_of(page: UninformativePage) -> float:
    """Between 0 and ``REPEATS``."""
    shape = page.shape
    via = None if page.via is None else shape_of(page.via)
    if page.pattern.endswith((REPEATED, DEEP)):
        if (
            not page.breeds
            or page.chain < CHAIN_LEAST
            or via is None
            or not extends(shape, via.place, via.segments)
        ):
            return WITHOUT_ISSUE
        if page.pattern.endswith(DEEP):
            return DEEPENS
        return REPEATS if len(shape.segments) >= REPEATS_FROM else WITHOUT_ISSUE
    is_child = via is not None and follows(shape, via)
    when = dated(shape, numbers_are_ids=page.numbers_are_ids)
    if via is not None and shape.pattern == via.pattern and are_days_apart(shape, via):
        when = Dated.DAY
    if when is not Dated.NO and names_a_date(shape):
        is_child = is_child or (via is not None and stem_of(via) == stem_of(shape))
        return PERIOD if is_child and page.breeds and when is Dated.PERIOD else DAY
    return _of_child(shape, page.is_hollow) if is_child and page.breeds else WITHOUT_ISSUE


def most_points_of(page: UninformativePage) -> float:
    """A bound of ``points_of``, for a fraction of its cost: the shape of the URL that led to the page is not made."""
    shape = page.shape
    if page.pattern.endswith((REPEATED, DEEP)):
        return REPEATS
    if page.via is not None and may_be_days_apart(shape, page.via):
        return PERIOD
    if dated(shape, numbers_are_ids=page.numbers_are_ids) is not Dated.NO:
        return PERIOD
    return _of_child(shape, page.is_hollow)


def _of_child(shape: Shape, is_hollow: bool) -> float:
    """Of a page that was found on one of its kind, and leads to more of these."""
    if all(map(is_paging_name, shape.parameters)) or is_number(shape.parameters):
        return HOLLOW if is_hollow else NUMBERED
    if len(shape.parameters) > 1 or any("," in value for value in shape.parameters.values()):
        return COMBINES
    return ONE_PARAMETER


def is_number(parameters: Mapping[str, str]) -> bool:
    """Whether there is one parameter, and it counts something."""
    return len(parameters) == 1 and all(value.isdecimal() for value in parameters.values())


_NUMBERS = re.compile(r"\d+")

LOOKED_FROM = 5
"""Pages are looked at when there is one for so many of those that would make their pattern a trap."""
PATIENT_AFTER = 4
STRIDES = (1, 3, 5, 9, 17)
"""After so many pages in a row that brought something new, every third is looked at, then every fifth and so on. Odd,
so that of two kinds that take turns both are looked at."""
STRIDE_OF_LEADING = 5
"""Likewise where they said nothing new, and only led on."""
NUMBERED_STRIDE = 25
HOLLOW_STRIDE = 2
"""Pages that count for little are looked at now and then, and one of them counts for all between."""
PATHS_MAX = 20_000
SKETCHES_MAX = 256
"""Of so many paths the sketch is kept; 8 to 16 MB."""
LEARN_AGAIN = 64
"""Looks after which it is asked again whether the pages of a path are strewn with noise."""
MOSTLY_NEW = 0.5
"""A page of which so much is new has a text of its own, and not noise alone. The template of its kind, that is looked
for noise, is not learnt from it, which would cost more than all else of a look.
"""
DOUBT = 2
"""Pages that say the same, taken back for one that does not, where noise may be the cause."""
TEMPLATES_MAX = 64
NEW_WORDS = 2
"""A page with so many words that are new is not barren."""
DEEP_SEGMENTS = 4
USUAL_PAGES = 12


@dataclass(frozen=True, slots=True)
class Visit:
    """A fetched page. ``wording`` is called if need be, and gives None where the page may not be read; ``found`` are
    URLs that are new to the crawl.
    """

    url: str
    via: str | None
    wording: Callable[[], Shingles | None]
    found: Callable[[], Iterator[str]]


class _Issue(Enum):
    """Whether a page leads to new URLs: of other kinds, of its own alone, or to none."""

    LEADS_ON = auto()
    BREEDS = auto()
    NONE = auto()


class Judge:
    """Remembers the paths that were met last; memory is bounded by their number."""

    def __init__(self, pages: int = USUAL_PAGES, new_share: float = 0.1) -> None:
        """``pages``: barren ones in a row that make combinations of parameters a trap; other shapes need more or less
        of them in proportion. ``new_share``: of what a page says, below which it is barren.
        """
        self._quota = POINTS * pages / USUAL_PAGES
        self._new_share = new_share
        self._paths: OrderedDict[str, PathRecord] = OrderedDict()
        self._sketches: OrderedDict[str, Sketch] = OrderedDict()
        self._templates: OrderedDict[str, Template] = OrderedDict()
        self._chains: OrderedDict[int, int] = OrderedDict()

    def seen(self, shape: Shape, visit: Visit) -> list[Evidence]:
        """A page was fetched; what that proves."""
        pattern = _judged_as(shape, visit)
        if pattern is None:
            return []
        path = self._path(pattern)
        path.met(shape, has_id=path.has_ids or has_id(shape))
        if path.pages < path.look_at or not self._is_worth_a_look(path, shape, pattern, visit.via):
            return []
        wording = visit.wording()
        if wording is None:
            return []
        known = pattern in self._sketches
        news, likeness = self._read(path, pattern, wording)
        if not known:
            return []
        unseen = 0 if likeness is None else likeness.unseen
        says_new = news.share >= self._new_share or news.words >= NEW_WORDS + unseen
        issue = _Issue.LEADS_ON if says_new else self._issue(shape, pattern, visit.found())
        barren = not says_new and issue is not _Issue.LEADS_ON
        path.saw(shape, says_new=says_new, barren=barren)
        if not barren:
            self._reckon_stride(path, says_new)
            return []
        path.look_at = path.pages + 1
        if path.is_sparse and likeness is None:
            likeness = self._template(pattern).take(wording.without_echoes(wording.words()))
            unseen = likeness.unseen
        hollow = likeness is not None and likeness.is_hollow and path.is_sparse and not news.files
        # Of a long page it is the beginning alone that was compared word by word.
        hollow = hollow and (wording.is_short or unseen > 0 or not news.share)
        if path.hollow and not hollow:
            # What is the same on many pages and not on all is the template of real ones, or noise hides that it is.
            if unseen:
                path.take_back(DOUBT * HOLLOW * path.stride)
            else:
                path.rest()
        path.hollow = path.hollow + 1 if hollow else path.hollow if unseen else 0
        page = UninformativePage(
            shape,
            pattern,
            visit.via,
            issue is _Issue.BREEDS,
            self._chain(pattern, visit),
            hollow,
            path.has_ids,
        )
        points = points_of(page)
        if points in (NUMBERED, HOLLOW):
            points *= path.stride
            is_young = path.is_sparse and path.looked < LEARN_EVERY
            path.stride = HOLLOW_STRIDE if hollow or is_young else NUMBERED_STRIDE
            path.look_at = path.pages + path.stride
        path.charge(shape, points, visit.url)
        return path.verdict(shape, pattern, self._quota)

    def _read(self, path: PathRecord, pattern: str, wording: Shingles) -> tuple[News, Likeness | None]:
        """What is new of a page, and how it is beside the template of its kind; None where that is not asked."""
        template, sketch = self._template(pattern), self._sketch(pattern)
        if template.is_noisy:
            likeness = template.take(wording.without_echoes(wording.words()))
            return sketch.take(wording, likeness.noise), likeness
        news = sketch.take(wording)
        learns = template.is_noisy is None or path.looked % LEARN_AGAIN < LEARN_EVERY
        if not learns or news.share >= MOSTLY_NEW:
            return news, None
        return news, template.take(wording.without_echoes(wording.words()))

    def _issue(self, shape: Shape, pattern: str, found: Iterator[str]) -> _Issue:
        """What becomes of the URLs that a page brought."""
        breeds = False
        met: set[tuple[str, str]] = set()
        for url in found:
            slash = url.index("/", 8)
            # Of links that differ in their numbers one stands for all.
            kind = (url[:slash], _NUMBERS.sub("#", url[slash:]))
            if kind in met:
                continue
            met.add(kind)
            other = shape_of(url)
            if other.sessions:
                # Each visit makes them new.
                continue
            kin = url_relation(shape, other, goes_deeper=pattern.endswith(DEEP))
            if kin is UrlRelation.OTHER or (kin is UrlRelation.NEAR and not self._is_dull(other)):
                return _Issue.LEADS_ON
            breeds = True
        return _Issue.BREEDS if breeds else _Issue.NONE

    def _is_dull(self, shape: Shape) -> bool:
        path = self._paths.get(shape.pattern)
        return path is not None and path.is_dull(shape)

    def _path(self, pattern: str) -> PathRecord:
        path = self._paths.get(pattern)
        if path is None:
            path = self._paths[pattern] = PathRecord()
            if len(self._paths) > PATHS_MAX:
                gone, _ = self._paths.popitem(last=False)
                self._sketches.pop(gone, None)
        else:
            self._paths.move_to_end(pattern)
        return path

    def _sketch(self, pattern: str) -> Sketch:
        sketch = self._sketches.setdefault(pattern, Sketch())
        self._sketches.move_to_end(pattern)
        if len(self._sketches) > SKETCHES_MAX:
            self._sketches.popitem(last=False)
        return sketch

    def _template(self, pattern: str) -> Template:
        template = self._templates.setdefault(pattern, Template())
        self._templates.move_to_end(pattern)
        if len(self._templates) > TEMPLATES_MAX:
            self._templates.popitem(last=False)
        return template

    def _is_worth_a_look(self, path: PathRecord, shape: Shape, pattern: str, via: str | None) -> bool:
        """Not as long as its pages count for nothing anyway, and the later the more of them would be needed."""
        if path.is_suspect:
            return True
        least = self._quota / (path.pages * LOOKED_FROM)
        if least > REPEATS:
            return False
        page = UninformativePage(shape, pattern, via, True, CHAIN_LEAST, path.is_sparse, path.has_ids)
        return most_points_of(page) >= least and points_of(page) >= least

    @staticmethod
    def _reckon_stride(path: PathRecord, says_new: bool) -> None:
        path.stride = 1
        stride = STRIDES[min(path.streak // PATIENT_AFTER, len(STRIDES) - 1)]
        path.look_at = path.pages + (stride if says_new else min(stride, STRIDE_OF_LEADING))

    def _chain(self, pattern: str, visit: Visit) -> int:
        """How many barren pages led to each other up to this one."""
        if not pattern.endswith((DEEP, REPEATED)):
            return 1
        chain = self._chains[hash(visit.url)] = 1 + self._chains.get(hash(visit.via), 0)
        if len(self._chains) > PATHS_MAX:
            self._chains.popitem(last=False)
        return chain


def _judged_as(shape: Shape, visit: Visit) -> str | None:
    """Under which pattern a page is looked at; None for one that is like no other."""
    if shape.varies or shape.parameters:
        return shape.pattern
    if (
        len(shape.segments) >= DEEP_SEGMENTS
        and visit.via is not None
        and extends(shape, *place_and_segments(visit.via))
    ):
        return shape.below(1)
    return None
