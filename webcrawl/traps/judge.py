"""The judge of patterns: which of them bring nothing new, and by their shape will never come to an end.

Pages are counted by pattern. What a page says is looked at only once its pattern has several, and the less often the
longer it goes on bringing something new, and all in all no more of them than the budget allows. A page is barren when
it says next to nothing that others of its path did not say, and leads to no URL that is new and of another kind.
Barren pages in a row are the evidence; how many are needed depends on how the URLs were found and what they look
like. Nothing here asks for the time.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from webcrawl.traps.charge import (
    CHAIN_LEAST,
    HOLLOW,
    NUMBERED,
    POINTS,
    REPEATS,
    Barren,
    most_points_of,
    points_of,
)
from webcrawl.traps.dates import has_id
from webcrawl.traps.kinship import Kin, extends, kin_of
from webcrawl.traps.novelty import LEARN_EVERY, Likeness, News, Sketch, Template
from webcrawl.traps.pattern import DEEP, REPEATED, Shape, place_and_segments, shape_of
from webcrawl.traps.strands import Evidence, PathRecord
from webcrawl.traps.wording import Wording

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
    wording: Callable[[], Wording | None]
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
        page = Barren(
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

    def _read(self, path: PathRecord, pattern: str, wording: Wording) -> tuple[News, Likeness | None]:
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
            kin = kin_of(shape, other, goes_deeper=pattern.endswith(DEEP))
            if kin is Kin.OTHER or (kin is Kin.NEAR and not self._is_dull(other)):
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
        page = Barren(shape, pattern, via, True, CHAIN_LEAST, path.is_sparse, path.has_ids)
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
