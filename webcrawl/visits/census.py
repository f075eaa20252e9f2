"""How the rates of all pages are spread, and how many visits they ask for, from the visits as they come.

Each visit brings what is known of its page from then on, and counts for as long as that will hold: until the next
visit. So pages count alike, whether they are visited often or seldom. What is older counts less, by a weight that
grows with time instead of sums that shrink (forward decay: Cormode, Shkapenyuk, Srivastava and Xu, ICDE 2009), so
that the censuses of several workers are simply added.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from webcrawl.visits.estimate import RATES, dot, log_normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HALF_LIFE_SECONDS = 180 * 86_400.0
_EPOCH = 1_577_836_800.0
"""2020. Weights have doubled some 500 times by the year 2270, and are still numbers."""

START = log_normal(1 / (30 * 86_400), 2.0)
"""What is taken for the spread before anything is known: two pages of three change each four days to seven months."""
START_VISITS = 20
"""For so many visits that counts."""
START_LEAST = 0.02
"""And never for a smaller part, so that no rate becomes impossible."""


class Census:
    """Sums over visits. ``take`` puts censuses of others beside the own one."""

    def __init__(self) -> None:
        self._own = [0.0] * (3 + len(RATES))
        self._others = [0.0] * (3 + len(RATES))

    def add(self, weights: Sequence[float], interval: float, foreseen: float, now: float) -> None:
        """A visit: how probable each rate of its page is, after how many seconds it is visited again, and how many
        visits a second were foreseen for such a page."""
        counts_for = interval * 2 ** ((now - _EPOCH) / HALF_LIFE_SECONDS)
        own = self._own
        own[0] += 1
        own[1] += counts_for / interval
        own[2] += counts_for * foreseen
        own[3:] = [before + counts_for * weight for before, weight in zip(own[3:], weights, strict=True)]

    @property
    def visits(self) -> int:
        return int(self._own[0] + self._others[0])

    def spread(self) -> list[float]:
        """How probable each rate is for a page of which nothing is known; each more than 0."""
        counted = [own + other for own, other in zip(self._own[3:], self._others[3:], strict=True)]
        total = sum(counted)
        if not total:
            return list(START)
        part = max(START_VISITS / (START_VISITS + self.visits), START_LEAST)
        return [part * start + (1 - part) * one / total for start, one in zip(START, counted, strict=True)]

    def asked(self, visits: Sequence[float]) -> float:
        """How many visits a second a page asks for on average, if pages whose rates are known get ``visits``.

        Their rates are known in part only, and some are visited to know them better, so they ask for more or less
        than that: it is made good by the proportion so far.
        """
        planned, foreseen = self._own[1] + self._others[1], self._own[2] + self._others[2]
        return dot(self.spread(), visits) * (planned / foreseen if foreseen else 1.0)

    def text(self) -> str:
        """The own census, as JSON of some 700 characters."""
        return json.dumps([float(f"{one:.5g}") for one in self._own], separators=(",", ":"))

    def take(self, own: str | None, others: Iterable[str]) -> None:
        """Go on from what ``text()`` gave: ``own`` in place of what was counted here, if there is any, ``others`` in
        place of the others'. What is no census counts for nothing.
        """
        if own is not None:
            self._own = _read(own)
        found = [_read(text) for text in others]
        self._others = [sum(column) for column in zip(*found, strict=True)] or [0.0] * len(self._own)


def _read(text: str) -> list[float]:
    try:
        values = [float(value) for value in json.loads(text)]
    except (ValueError, TypeError):
        values = []
    if len(values) != 3 + len(RATES) or not all(0 <= value < float("inf") for value in values):
        return [0.0] * (3 + len(RATES))
    return values
