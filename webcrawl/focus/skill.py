"""Whether guesses are better than chance: the levels at which pages were fetched, against what they turned out to be.

The measure is the area under the ROC curve, which is the Mann-Whitney statistic: the chance that of a relevant page
and another one the relevant one had the higher level. By chance it is 1/2, with a known spread.
"""

from __future__ import annotations

import math
from collections import Counter, deque

PAGES = 1000
"""Pages that are looked back at."""
FROM = 200
"""Pages before which nothing is concluded, since hardly anything was learned."""
LEAST = 10
"""Of both kinds there must be so many, or nothing is concluded either."""
LOST_BELOW, REGAINED_ABOVE = 2.0, 3.0
"""Standard deviations above chance below which guesses are not believed any more, and above which they are again."""
EVERY = 50
"""Pages after which it is looked again."""


class Skill:
    """Guesses are believed unless the pages looked back at show that they are none: where so few of those are
    relevant that they show nothing, they are believed again.
    """

    def __init__(self) -> None:
        self._pages: deque[tuple[int, bool]] = deque(maxlen=PAGES)
        self._since = 0
        self.area: float | None = None
        """Under the curve; None as long as there are too few pages of a kind."""
        self.is_believed = True

    def fetched(self, level: int, relevant: bool) -> bool:
        """A page came of which ``level`` was guessed. Returns whether what is believed has changed."""
        self._pages.append((level, relevant))
        self._since += 1
        if self._since < EVERY:
            return False
        self._since = 0
        before = self.is_believed
        self._look()
        return self.is_believed is not before

    def _look(self) -> None:
        found = Counter(level for level, relevant in self._pages if relevant)
        others = Counter(level for level, relevant in self._pages if not relevant)
        hits, misses = found.total(), others.total()
        if hits + misses < FROM:
            return
        if min(hits, misses) < LEAST:
            self.is_believed = self.is_believed or hits + misses == PAGES
            return
        below = pairs = ties = 0.0
        for level in sorted({*found, *others}):
            pairs += found[level] * below + found[level] * others[level] / 2
            below += others[level]
            ties += (found[level] + others[level]) ** 3 - (found[level] + others[level])
        count = hits + misses
        self.area = pairs / (hits * misses)
        spread = (count + 1 - ties / (count * (count - 1))) / (12 * hits * misses)
        above = 0.0 if spread <= 0 else (self.area - 0.5) / math.sqrt(spread)
        self.is_believed = above > (LOST_BELOW if self.is_believed else REGAINED_ABOVE)
