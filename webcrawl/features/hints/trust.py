"""Trust in a site's claims: the share of those that proved true."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.features.revisits.estimate import History


MARKS_MAX = 16
"""Maximum number of a site's claims that wait for a check: a sample, so that the data of a site stays under a
kilobyte."""
MARK_SECONDS = 180 * 86_400.0
"""Time after which a claim is dropped if its page is not visited."""
MEMORY = 50
"""Number of further claims after which a result has a third of its weight."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Results of the claims of one politeness key that a page has changed since its last visit."""

    right: float = 0.0
    """Claims after which a visit found a change. Decays."""
    wrong: float = 0.0
    """Claims after which a visit found none. Decays."""
    marks: Mapping[int, float] = field(default_factory=dict)
    """Fingerprints of pages with a claim, with the time (epoch seconds) of the visit since which they are claimed to
    have changed."""

    @property
    def share(self) -> float:
        """Share of true claims, by Laplace's rule of succession: one half without results."""
        return (self.right + 1.0) / (self.right + self.wrong + 2.0)

    def marked(self, fingerprint: int, last_at: float) -> Trust:
        """Mark a page that is claimed to have changed since its visit at ``last_at``; the next visit decides, if
        there is room for the mark."""
        if fingerprint in self.marks or len(self.marks) >= MARKS_MAX:
            return self
        return replace(self, marks={**self.marks, fingerprint: last_at})

    def checked(self, histories: Mapping[int, History | None], now: float) -> Trust:
        """Check the claims that can be checked by now. ``histories``: those of the marked pages; None for a page that
        is no longer remembered, which gives no result."""
        right, wrong, kept = self.right, self.wrong, dict[int, float]()
        for fingerprint, at in self.marks.items():
            history = histories.get(fingerprint)
            if history is None or now - at > MARK_SECONDS:
                continue
            if history.last_at <= at:
                kept[fingerprint] = at
                continue
            is_right = history.changed_at is not None and history.changed_at > at
            fades = 1.0 - 1.0 / MEMORY
            right, wrong = right * fades + is_right, wrong * fades + (not is_right)
        return self if len(kept) == len(self.marks) else Trust(round(right, 3), round(wrong, 3), kept)

    def text(self) -> str:
        """Return JSON of at most some 800 characters."""
        marks = {str(fingerprint): at for fingerprint, at in self.marks.items()}
        return json.dumps([self.right, self.wrong, marks], separators=(",", ":"))

    @classmethod
    def of(cls, text: str | bytes) -> Trust:
        """Parse the result of ``text()``. :raises ValueError: it is something else"""
        try:
            right, wrong, marks = json.loads(text)
            return cls(float(right), float(wrong), {int(mark): float(at) for mark, at in marks.items()})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"no trust: {error}") from error
