"""Trap detector: passes fetched pages to the pattern evaluator and the session finder, and fills the quarantine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from webcrawl.features.traps.copies import Copies
from webcrawl.features.traps.novelty import ReadingBudget
from webcrawl.features.traps.pattern import session_of_folder, shape_of
from webcrawl.features.traps.pattern_evaluator import PatternEvaluator, Visit
from webcrawl.features.traps.quarantine import Quarantine, Withheld, how_to_release, in_words
from webcrawl.features.traps.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.traps.novelty import Shingles
    from webcrawl.features.traps.parameters import Evidence
    from webcrawl.features.traps.pattern import Shape
    from webcrawl.frontier.records import UrlEntry

logger = logging.getLogger(__name__)

FOUND_MAX = 100
"""Maximum number of new URLs of a page that are examined."""


class TrapDetector:
    """Evaluates pages, and puts the patterns that are found to be traps into quarantine."""

    def __init__(
        self, clock: Callable[[], float], *, pages: int, new_share: float, withheld_max: int
    ) -> None:
        """``clock`` returns epoch seconds. ``pages`` and ``new_share`` are as for ``PatternEvaluator``,
        ``withheld_max`` as for ``Quarantine``."""
        self._clock = clock
        self._patterns = PatternEvaluator(pages, new_share)
        self._sessions = Sessions()
        self._budget = ReadingBudget()
        self._copies = Copies()
        self.quarantine = Quarantine(withheld_max, self._sessions.has, self._copies.has)

    def page(
        self,
        url: str,
        via: str | None,
        shingles: Callable[[], Shingles],
        found: Sequence[UrlEntry],
        size: int = 0,
        body: bytes | None = None,
    ) -> None:
        """Evaluate a fetched text page. ``shingles`` is called at most once; ``found``: the page's links that are
        new; ``size``: its length in bytes; ``body``: its bytes, to be compared with those of its copies."""
        shape = shape_of(url)
        self._budget.earn(shape.place)
        evidence: list[Evidence] = []
        is_void_elsewhere = self._copies.is_void_elsewhere(shape)
        if body is not None:
            new = (entry.url for entry in found[:FOUND_MAX])
            evidence += self._copies.seen(shape, url, body, new, self.quarantine.void_of(shape))
        evidence += self._of_shape(
            shape, url, via, shingles, found, size, is_void_elsewhere=is_void_elsewhere
        )
        for one in evidence:
            self._budget.refill(shape.place)
            self._commit(one)

    def _of_shape(
        self,
        shape: Shape,
        url: str,
        via: str | None,
        shingles: Callable[[], Shingles],
        found: Sequence[UrlEntry],
        size: int,
        *,
        is_void_elsewhere: bool,
    ) -> list[Evidence]:
        """Return the evidence that a page completes by its session or its pattern."""
        if not (shape.varies or shape.parameters or shape.sessions or len(shape.segments) > 3):
            return []
        read: list[Shingles | None] = []

        def once() -> Shingles | None:
            if not read:
                read.append(shingles() if self._budget.pay(shape.place, size) else None)
            return read[0]

        def urls() -> Iterator[str]:
            new = (entry.url for entry in found[:FOUND_MAX])
            return self._copies.lead_on(shape, new) if is_void_elsewhere else new

        evidence: list[Evidence] = []
        visited = self.quarantine.with_session(shape)
        if not (visited.sessions or visited.parameters):
            visited = session_of_folder(visited)
        if visited.sessions:
            evidence += self._sessions.seen(visited, url, once, self.quarantine.is_settled(visited))
        return evidence + self._patterns.seen(
            shape, Visit(url, via, once, urls, self._copies.is_void_elsewhere(shape))
        )

    def withheld(self, url: str, host: str, depth: int, via: str | None) -> None:
        """Record that the trap rule refused a URL."""
        trap = self.quarantine.trap_of(url, host)
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
