"""Pattern evaluator: decides which patterns of URLs bring nothing new and, by their shape, will never end.

Pages are counted by pattern. Their content is examined only once a pattern has several pages, less often the longer
the pattern keeps bringing something new, and never more than the reading budget allows. A page is uninformative
if nearly all of its content was on other pages of its path, and it leads to no new URL of another kind.

An uninformative page gives its pattern points, depending on how its URL was found and what it looks like: many for
URLs that grow out of each other, since no finite set of pages does that for long; none where it may be chance. A
pattern is a trap when uninformative pages in a row have reached ``POINTS``. Nothing here depends on the time.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple
from zlib import compress, decompress, error

from webcrawl.features.traps.novelty import LEARN_EVERY, Likeness, News, Shingles, Sketch, Template
from webcrawl.features.traps.parameters import Evidence, PathRecord
from webcrawl.features.traps.pattern import (
    DEEP,
    PATH_SESSION,
    REPEATED,
    Shape,
    is_paging_name,
    parse_shape,
    place_and_segments,
)
from webcrawl.features.traps.url_shape import (
    Dated,
    UrlRelation,
    are_days_apart,
    calendar_stem,
    dated,
    extends,
    follows,
    has_id,
    may_be_days_apart,
    names_a_date,
    url_relation,
)

POINTS = 60
REPEATS = 10.0
"""Points of a page whose path repeats a segment, below an uninformative page of the same kind: six pages make a trap.
"""
COMBINES = 5.0
"""Points of a page with a combination of parameters: twelve pages make a trap."""
DEEPENS = 3.0
CHAIN_LEAST = 2
"""Minimum length of a chain of uninformative pages, each linked from the one before. ``DEEPENS`` are the points of a
page that is deeper than an uninformative page that led to it: twenty make a trap."""
PERIOD = 6.0
"""Points of a page about a month or another period: ten make a trap."""
VOID_ELSEWHERE = 10.0
"""Points of a page that was fetched under another value of its only parameter, if that changes nothing on other paths
of the host: six such pages without new content make it void here too.
"""
DAY = 3.0
"""Points of a page about a day, or about a date and found elsewhere: twenty make a trap, since empty days are common.
"""
ONE_PARAMETER = 3.0
NUMBERED = 0.02
"""Points of pages that differ only in a number, in the path or in one parameter: three thousand make a trap, since a
site whose pages have almost no text looks the same and is not a trap."""
HOLLOW = 0.75
"""Points of pages whose numbers are drawn from a wide range and that all have the same content: eighty make a trap,
since such a site may return that page for any number."""
REPEATS_FROM = 5
"""Minimum number of segments of a path for its repeated segments to count: folder trees with short names repeat them
too."""
WITHOUT_ISSUE = 0.0
"""Points of pages that lead to no further page of their kind: such pages end by themselves."""


@dataclass(frozen=True, slots=True)
class UninformativePage:
    """A page that brought nothing new.

    ``pattern``: the pattern it counts for; ``breeds``: whether it leads to new URLs of its own kind; ``chain``: the
    number of such pages that led to each other up to this one; ``is_hollow``: whether it has only the content that
    all pages of its kind have, under a number drawn from a wide range; ``numbers_are_ids`` as for ``dated``;
    ``is_void_elsewhere``: whether its only parameter changes nothing on other paths of the host, and it was fetched
    under another value of it.
    """

    shape: Shape
    pattern: str
    via: str | None
    breeds: bool
    chain: int
    is_hollow: bool = False
    numbers_are_ids: bool = False
    is_void_elsewhere: bool = False


def page_points(page: UninformativePage) -> float:
    """Return the points of a page, between 0 and ``REPEATS``."""
    shape = page.shape
    if page.is_void_elsewhere:
        return VOID_ELSEWHERE
    via = None if page.via is None else parse_shape(page.via)
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
        is_child = is_child or (via is not None and calendar_stem(via) == calendar_stem(shape))
        return PERIOD if is_child and page.breeds and when is Dated.PERIOD else DAY
    return _of_child(page) if is_child and page.breeds else WITHOUT_ISSUE


def max_page_points(page: UninformativePage) -> float:
    """Return an upper bound of ``page_points`` at a fraction of its cost: the shape of the referring URL is not
    computed."""
    shape = page.shape
    if page.is_void_elsewhere:
        return VOID_ELSEWHERE
    if page.pattern.endswith((REPEATED, DEEP)):
        return REPEATS
    if page.via is not None and may_be_days_apart(shape, page.via):
        return PERIOD
    if dated(shape, numbers_are_ids=page.numbers_are_ids) is not Dated.NO:
        return PERIOD
    return _of_child(page)


def _of_child(page: UninformativePage) -> float:
    """Return the points of a page that was found on a page of its kind and leads to more of these."""
    shape = page.shape
    if all(map(is_paging_name, shape.parameters)) or is_number(shape.parameters):
        return HOLLOW if page.is_hollow else NUMBERED
    if len(shape.parameters) > 1 or any("," in value for value in shape.parameters.values()):
        return COMBINES
    return ONE_PARAMETER


def is_number(parameters: Mapping[str, str]) -> bool:
    """Return whether there is exactly one parameter and its value is a number."""
    return len(parameters) == 1 and all(value.isdecimal() for value in parameters.values())


_NUMBERS = re.compile(r"\d+")

LOOKED_FROM = 5
"""Examination of a pattern starts when it has one page for every ``LOOKED_FROM`` that would make it a trap."""
PATIENT_AFTER = 4
STRIDES = (1, 3, 5, 9, 17)
"""Examination intervals: after each ``PATIENT_AFTER`` pages in a row that brought something new, the interval grows:
every third page is examined, then every fifth and so on. Odd, so that of two kinds that alternate both are examined.
"""
STRIDE_OF_LEADING = 5
"""Longest interval if the pages had no new content and only led to other kinds."""
NUMBERED_STRIDE = 25
HOLLOW_STRIDE = 2
"""Intervals for pages with few points: one page is examined now and then, and counts for all pages between."""
PATHS_MAX = 20_000
COMPARED_MAX = 512
"""Maximum number of patterns whose content is kept; their sketches are 16 to 32 MB."""
LEARN_AGAIN = 64
"""Number of examined pages after which it is determined again whether the pages of a path contain noise."""
MOSTLY_NEW = 0.5
"""A page with at least this share of new content has its own text, and not only noise. The template used to find
noise is not learned from it; that would cost more than the rest of the examination."""
DOUBT = 2
"""Number of hollow pages whose points are taken back for one that is not hollow, if noise may be the cause."""
YIELDING = 8
"""Number of patterns that are considered for eviction, from the one that was examined longest ago."""
LOOKS_LEAST = 2
"""Number of examined pages before which a pattern is not evicted: the first one only fills its sketch."""
REFUSED_MAX = 64
"""Number of patterns turned away in a row after which one is evicted in any case: its host may answer no more."""
NEW_WORDS = 2
"""A page with at least so many new words counts as informative."""
DEEP_SEGMENTS = 4
USUAL_PAGES = 12


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A fetched page. ``shingles`` is called only if needed, and returns None if the page may not be read; ``found``
    returns the URLs of the page that are new to the crawl; ``is_void_elsewhere`` as for ``UninformativePage``."""

    url: str
    via: str | None
    shingles: Callable[[], Shingles | None]
    found: Callable[[], Iterator[str]]
    is_void_elsewhere: bool = False


class Standing(NamedTuple):
    """The state of a pattern: whether its pages have points, and how many were fetched and examined."""

    is_suspect: bool = False
    pages: int = 0
    looked: int = 0


NO_STANDING = Standing()


class _Issue(Enum):
    """Kind of new URLs that a page leads to: of other kinds, only of its own kind, or none."""

    LEADS_ON = auto()
    BREEDS = auto()
    NONE = auto()


@dataclass(slots=True)
class _PatternContent:
    """The content with which pages of a pattern are compared. ``looks``: number of pages examined since."""

    sketch: Sketch = field(default_factory=Sketch)
    template: Template = field(default_factory=Template)
    looks: int = 0


class _Contents:
    """The content of a bounded number of patterns.

    A pattern under suspicion stays until it is cleared or a trap. If the patterns of a crawl of many sites displaced
    each other by turns, none would ever be examined often enough to be found.
    """

    def __init__(self, is_suspect: Callable[[str], bool]) -> None:
        self._is_suspect = is_suspect
        self._contents: OrderedDict[str, _PatternContent] = OrderedDict()
        self._refused = 0

    def of(self, pattern: str) -> _PatternContent | None:
        """Return the content of a pattern, empty if the pattern is new; None if there is no room for it now."""
        content = self._contents.get(pattern)
        if content is not None:
            self._contents.move_to_end(pattern)
            return content
        if len(self._contents) >= COMPARED_MAX:
            evicted = next(filter(self._may_go, islice(self._contents, YIELDING)), None)
            if evicted is None:
                self._refused += 1
                if self._refused < REFUSED_MAX:
                    return None
                evicted = next(iter(self._contents))
            del self._contents[evicted]
            self._refused = 0
        content = self._contents[pattern] = _PatternContent()
        return content

    def get(self, pattern: str) -> _PatternContent | None:
        """Return the content of a pattern if it is kept."""
        return self._contents.get(pattern)

    def set(self, pattern: str, content: _PatternContent) -> None:
        """Replace the content of a pattern, if there is room for it."""
        if self.of(pattern) is not None:
            self._contents[pattern] = content

    def drop(self, pattern: str) -> None:
        """Forget the content of a pattern."""
        self._contents.pop(pattern, None)

    def _may_go(self, pattern: str) -> bool:
        return self._contents[pattern].looks >= LOOKS_LEAST and not self._is_suspect(pattern)


class PatternEvaluator:
    """Keeps the records of the most recent paths; the number of paths bounds its memory."""

    def __init__(self, pages: int = USUAL_PAGES, new_share: float = 0.1) -> None:
        """``pages``: number of uninformative pages in a row that make combinations of parameters a trap; other shapes
        need proportionally more or fewer. ``new_share``: share of new content below which a page is uninformative."""
        self._quota = POINTS * pages / USUAL_PAGES
        self._new_share = new_share
        self._paths: OrderedDict[str, PathRecord] = OrderedDict()
        self._contents = _Contents(lambda pattern: pattern in self._paths and self._paths[pattern].is_suspect)
        self._chains: OrderedDict[int, int] = OrderedDict()

    def standing(self, pattern: str | None) -> Standing:
        """Return the state of a pattern."""
        path = None if pattern is None else self._paths.get(pattern)
        return NO_STANDING if path is None else Standing(path.is_suspect, path.pages, path.looked)

    def packed_record(self, pattern: str) -> bytes:
        """Return the record of a pattern; empty if there is none."""
        path = self._paths.get(pattern)
        return b"" if path is None else compress(json.dumps(path.as_plain()).encode(), 1)

    def packed_content(self, pattern: str) -> bytes:
        """Return the content with which pages of a pattern are compared; empty if there is none."""
        content = self._contents.get(pattern)
        if content is None:
            return b""
        plain = {"template": content.template.as_plain(), "looks": content.looks}
        return compress(json.dumps(plain).encode() + b"\0" + content.sketch.packed(), 1)

    def restore_record(self, pattern: str, packed: bytes) -> None:
        """Put in place what ``packed_record`` returned, perhaps in another process. What cannot be read is passed
        over, here and below."""
        with suppress(ValueError, TypeError, AttributeError, error):
            path = PathRecord.from_plain(json.loads(decompress(packed)))
            self._path(pattern)
            self._paths[pattern] = path

    def restore_content(self, pattern: str, packed: bytes) -> None:
        """Put in place what ``packed_content`` returned."""
        with suppress(ValueError, TypeError, KeyError, AttributeError, error):
            content, _, sketch = decompress(packed).partition(b"\0")
            plain = json.loads(content)
            template = Template.from_plain(plain["template"])
            self._contents.set(
                pattern, _PatternContent(Sketch.unpacked(sketch), template, int(plain["looks"]))
            )

    def seen(self, shape: Shape, visit: VisitedPage) -> list[Evidence]:
        """Evaluate a fetched page; return the evidence it completes."""
        pattern = examined_pattern(shape, visit.via)
        if pattern is None:
            return []
        path = self._path(pattern)
        path.count_page(shape, has_id=path.has_ids or has_id(shape))
        if path.pages < path.look_at or not self._is_worth_a_look(path, shape, pattern, visit):
            return []
        content = self._contents.of(pattern)
        shingles = None if content is None else visit.shingles()
        if content is None or shingles is None:
            return []
        news, likeness = self._read(path, content, shingles)
        if content.looks == 1:
            return []
        unseen = 0 if likeness is None else likeness.unseen
        has_news = news.share >= self._new_share or news.words >= NEW_WORDS + unseen
        issue = _Issue.LEADS_ON if has_news else self._issue(shape, pattern, visit.found())
        is_uninformative = not has_news and issue is not _Issue.LEADS_ON
        path.count_examined(shape, has_news=has_news, uninformative=is_uninformative)
        if not is_uninformative:
            self._set_stride(path, has_news)
            return []
        path.look_at = path.pages + 1
        if path.is_sparse and likeness is None:
            likeness = content.template.take(shingles.without_echoes(shingles.words()))
            unseen = likeness.unseen
        hollow = likeness is not None and likeness.is_hollow and path.is_sparse and not news.files
        # Of a long page, only the beginning was compared word by word.
        hollow = hollow and (shingles.is_short or unseen > 0 or not news.share)
        if path.hollow and not hollow:
            # Content that is on many but not all pages is the template of real pages, or noise hides that it is on
            # all.
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
            visit.is_void_elsewhere,
        )
        points = page_points(page)
        if points in (NUMBERED, HOLLOW):
            points *= path.stride
            is_young = path.is_sparse and path.looked < LEARN_EVERY
            path.stride = HOLLOW_STRIDE if hollow or is_young else NUMBERED_STRIDE
            path.look_at = path.pages + path.stride
        path.add_points(shape, points, visit.url)
        if visit.is_void_elsewhere:
            return path.evidence_of_void(shape, self._quota)
        return path.evidence(shape, pattern, self._quota)

    @staticmethod
    def _read(path: PathRecord, content: _PatternContent, shingles: Shingles) -> tuple[News, Likeness | None]:
        """Return the page's news, and its likeness to the template of its kind, or None if the template was not
        consulted."""
        template, sketch = content.template, content.sketch
        content.looks += 1
        if template.is_noisy:
            likeness = template.take(shingles.without_echoes(shingles.words()))
            return sketch.take(shingles, likeness.noise), likeness
        news = sketch.take(shingles)
        learns = template.is_noisy is None or path.looked % LEARN_AGAIN < LEARN_EVERY
        if not learns or news.share >= MOSTLY_NEW:
            return news, None
        return news, template.take(shingles.without_echoes(shingles.words()))

    def _issue(self, shape: Shape, pattern: str, links: Iterator[str]) -> _Issue:
        """Classify the new URLs of a page."""
        breeds = False
        kinds: set[tuple[str, str]] = set()
        for url in links:
            slash = url.index("/", 8)
            # Of links that differ only in their numbers, one is examined.
            kind = (url[:slash], _NUMBERS.sub("#", url[slash:]))
            if kind in kinds:
                continue
            kinds.add(kind)
            other = parse_shape(url)
            if other.sessions and not _is_same_token(shape, other):
                # A session makes the URL new at each visit.
                continue
            relation = url_relation(shape, other, goes_deeper=pattern.endswith(DEEP))
            if relation is UrlRelation.OTHER or (relation is UrlRelation.NEAR and not self._is_dull(other)):
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
                self._contents.drop(gone)
        else:
            self._paths.move_to_end(pattern)
        return path

    def _is_worth_a_look(self, path: PathRecord, shape: Shape, pattern: str, visit: VisitedPage) -> bool:
        """Return False while its pages would have no points anyway; examination starts later the more pages a trap
        needs."""
        if path.is_suspect:
            return True
        least = self._quota / (path.pages * LOOKED_FROM)
        if least > REPEATS:
            return False
        page = UninformativePage(
            shape,
            pattern,
            visit.via,
            True,
            CHAIN_LEAST,
            path.is_sparse,
            path.has_ids,
            visit.is_void_elsewhere,
        )
        return max_page_points(page) >= least and page_points(page) >= least

    @staticmethod
    def _set_stride(path: PathRecord, has_news: bool) -> None:
        path.stride = 1
        stride = STRIDES[min(path.streak // PATIENT_AFTER, len(STRIDES) - 1)]
        path.look_at = path.pages + (stride if has_news else min(stride, STRIDE_OF_LEADING))

    def _chain(self, pattern: str, visit: VisitedPage) -> int:
        """Return the length of the chain of uninformative pages that led to each other up to this one."""
        if not pattern.endswith((DEEP, REPEATED)):
            return 1
        chain = self._chains[hash(visit.url)] = 1 + self._chains.get(hash(visit.via), 0)
        if len(self._chains) > PATHS_MAX:
            self._chains.popitem(last=False)
        return chain


def _is_same_token(shape: Shape, other: Shape) -> bool:
    """Return whether the sessions of two URLs are tokens in their path, which is the same."""
    return other.segments == shape.segments and all(name.endswith(PATH_SESSION) for name in other.sessions)


def examined_pattern(shape: Shape, via: str | None) -> str | None:
    """Return the pattern under which a page is examined; None for a page with a unique pattern."""
    if shape.varies or shape.parameters:
        return shape.pattern
    if len(shape.segments) >= DEEP_SEGMENTS and via is not None and extends(shape, *place_and_segments(via)):
        return shape.below(1)
    return None
