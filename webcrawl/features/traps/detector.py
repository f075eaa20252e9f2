"""Trap detector: passes fetched pages to the pattern evaluator and the session finder, and fills the quarantine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.traps.copies import Copies, PageContents, base_without, page_contents
from webcrawl.features.traps.novelty import ReadingBudget
from webcrawl.features.traps.parameters import Evidence
from webcrawl.features.traps.pattern import parse_shape, session_of_folder
from webcrawl.features.traps.pattern_evaluator import PatternEvaluator, VisitedPage, examined_pattern
from webcrawl.features.traps.quarantine import Quarantine, Withheld, how_to_release, in_words
from webcrawl.features.traps.sessions import SessionComparison, SessionVisit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.traps.novelty import Shingles
    from webcrawl.features.traps.pattern import Shape
    from webcrawl.frontier.records import UrlEntry

logger = logging.getLogger(__name__)

FOUND_MAX = 100
"""Maximum number of new URLs of a page that are examined."""
UNEXAMINED_KEPT = 5
"""Every fifth page of a pattern that is counted but not examined has its record kept."""


class Observation(NamedTuple):
    """A fetched page without its text: the facts by which another process can count it too."""

    url: str | None
    """The URL; None for a page that has neither parameters nor a session: its base says enough."""
    base: int
    """The base of the page's URL, see ``copies.base_without``."""
    contents: PageContents | None = None
    session: SessionVisit | None = None


class TrapEvidence(NamedTuple):
    """The facts that a process has learned from a page. Another process needs them to go on with its host."""

    place: str
    """The host and port of the page."""
    observation: Observation
    may_have_copies: bool
    """True if its host offers pages under several URLs, so that observations of it are of use."""
    pattern: str | None
    """The pattern whose record is worth keeping and has changed, if any."""
    was_examined: bool
    """True if the content with which pages of this pattern are compared has changed."""


class TrapDetector:
    """Evaluates pages, and puts the patterns that are found to be traps into quarantine."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        pages: int,
        new_share: float,
        withheld_max: int,
        is_shared: bool = False,
    ) -> None:
        """``clock`` returns epoch seconds. ``pages`` and ``new_share`` are as for ``PatternEvaluator``,
        ``withheld_max`` as for ``Quarantine``. ``is_shared``: other processes go on with its hosts."""
        self._clock = clock
        self._is_shared = is_shared
        self.patterns = PatternEvaluator(pages, new_share)
        self._sessions = SessionComparison()
        self._budget = ReadingBudget()
        self._copies = Copies()
        self.quarantine = Quarantine(withheld_max, self._sessions.has, self._copies.has)

    def page(
        self,
        url: str,
        via: str | None,
        shingles: Callable[[], Shingles],
        discovered: Sequence[UrlEntry],
        size: int = 0,
        body: bytes | None = None,
    ) -> TrapEvidence | None:
        """Evaluate a fetched text page; return what it has taught, in a crawl that is shared. ``shingles`` is called
        at most once; ``discovered``: the page's links that are new; ``size``: its length in bytes; ``body``: its
        bytes, to be compared with those of its copies."""
        shape = parse_shape(url)
        self._budget.earn(shape.place)
        evidence: list[Evidence] = []
        is_void_elsewhere = self._copies.is_void_elsewhere(shape)
        contents: PageContents | None = None
        if body is not None:
            contents = page_contents(shape, url, body, (entry.url for entry in discovered[:FOUND_MAX]))
        if contents is not None:
            evidence += self._copies.seen(shape, url, contents, self.quarantine.void_parameters(shape))
        pattern = examined_pattern(shape, via) if self._is_shared else None
        before = self.patterns.standing(pattern)
        by_shape, session = self._of_shape(
            shape, url, via, shingles, discovered, size, is_void_elsewhere=is_void_elsewhere
        )
        for trap in evidence + by_shape:
            self._budget.refill(shape.place)
            self._commit(trap)
        if not self._is_shared:
            return None
        after = self.patterns.standing(pattern)
        was_examined = after.looked > before.looked
        changed = (before.is_suspect or after.is_suspect) and (
            was_examined or not after.pages % UNEXAMINED_KEPT
        )
        return TrapEvidence(
            shape.place,
            Observation(url if shape.parameters or session else None, base_without(shape), contents, session),
            self._copies.may_be_on(shape.place) or self._sessions.are_on(shape.place),
            pattern if changed else None,
            was_examined,
        )

    def park(self, url: str, why: str) -> bool:
        """Put all URLs of a host into quarantine, whose domain is parked; ``url`` is that of the page that shows it.
        Return False if an operator has released them."""
        pattern = parse_shape(url).whole
        if self.quarantine.is_released(pattern):
            return False
        self._commit(Evidence(pattern, why, 1, (url,)))
        return True

    def take(self, observation: Observation) -> None:
        """Count a page that another process has fetched. The patterns that it has found are known otherwise."""
        contents, session = observation.contents, observation.session
        if observation.url is None:
            if contents is not None:
                self._copies.take(observation.base, contents)
            return
        shape = parse_shape(observation.url)
        if contents is not None:
            self._copies.seen(shape, observation.url, contents, self.quarantine.void_parameters(shape))
        if session is not None:
            self._sessions.take(shape, session)

    def _of_shape(
        self,
        shape: Shape,
        url: str,
        via: str | None,
        shingles: Callable[[], Shingles],
        discovered: Sequence[UrlEntry],
        size: int,
        *,
        is_void_elsewhere: bool,
    ) -> tuple[list[Evidence], SessionVisit | None]:
        """Return the evidence that a page completes by its session or its pattern, and the visit of its session."""
        if not (shape.varies or shape.parameters or shape.sessions or len(shape.segments) > 3):
            return [], None
        read: list[Shingles | None] = []

        def once() -> Shingles | None:
            if not read:
                read.append(shingles() if self._budget.pay(shape.place, size) else None)
            return read[0]

        def urls() -> Iterator[str]:
            new = (entry.url for entry in discovered[:FOUND_MAX])
            return self._copies.lead_on(shape, new) if is_void_elsewhere else new

        evidence: list[Evidence] = []
        session: SessionVisit | None = None
        visited = self.quarantine.with_session(shape)
        if not (visited.sessions or visited.parameters):
            visited = session_of_folder(visited)
        if visited.sessions:
            is_settled = self.quarantine.is_settled(visited)
            evidence, session = self._sessions.seen(visited, url, once, is_settled)
        visit = VisitedPage(url, via, once, urls, self._copies.is_void_elsewhere(shape))
        return evidence + self.patterns.seen(shape, visit), session

    def withheld(self, url: str, host: str, depth: int, via: str | None) -> None:
        """Record that the trap rule refused a URL."""
        trap = self.quarantine.find_trap(url, host)
        if trap is not None:
            self.quarantine.withhold(trap, Withheld(url, depth, via))

    def _commit(self, evidence: Evidence) -> None:
        trap = self.quarantine.add(evidence, self._clock())
        if trap is not None:
            logger.warning(
                "Trap: %s is in quarantine: %s%s. `%s` releases it",
                in_words(trap.pattern),
                trap.why,
                f", such as {trap.samples[-1]}" if trap.samples else "",
                how_to_release(trap),
            )
