"""How far a site's claims are believed: by the share of those that proved true.

The contract of the places where the trust in sites is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from webcrawl.features.revisits.estimate import History


MARKS_MAX = 16
"""Claims of a site that are waited for at a time: a sample, so that what is kept of a site stays under a kilobyte."""
MARK_SECONDS = 180 * 86_400.0
"""How long a claim is waited for whose page is not visited."""
MEMORY = 50
"""Claims after which what was seen counts a third."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known of the claims of one politeness key: claims that a page changed since its last visit."""

    right: float = 0.0
    """Claims after which a visit found a change. Fades."""
    wrong: float = 0.0
    """Claims after which a visit found none. Fades."""
    marks: Mapping[int, float] = field(default_factory=dict)
    """Fingerprints of pages that are said to have changed, with the visit (epoch seconds) since which."""

    @property
    def share(self) -> float:
        """The share of claims that are true, by Laplace's rule of succession: a half before anything is known."""
        return (self.right + 1.0) / (self.right + self.wrong + 2.0)

    def marked(self, fingerprint: int, last_at: float) -> Trust:
        """The page is said to have changed since its visit at ``last_at``; the next one judges that, if there is room
        to wait for it.
        """
        if fingerprint in self.marks or len(self.marks) >= MARKS_MAX:
            return self
        return replace(self, marks={**self.marks, fingerprint: last_at})

    def judged(self, histories: Mapping[int, History | None], now: float) -> Trust:
        """Judge what can be judged by now. ``histories``: those of the marked pages; None of what is not
        remembered any more, which says nothing.
        """
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
        """As JSON of at most some 800 characters."""
        marks = {str(fingerprint): at for fingerprint, at in self.marks.items()}
        return json.dumps([self.right, self.wrong, marks], separators=(",", ":"))

    @classmethod
    def of(cls, text: str | bytes) -> Trust:
        """What ``text()`` wrote. :raises ValueError: it is something else"""
        try:
            right, wrong, marks = json.loads(text)
            return cls(float(right), float(wrong), {int(one): float(at) for one, at in marks.items()})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"no trust: {error}") from error


class TrustStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError. What two processes save at the same time for
    the same site is the one or the other: it is a sample anyway.
    """

    async def open(self) -> None:
        """Make ready. :raises webcrawl.errors.StartRefused: it cannot be used"""
        ...

    async def load(self, key: str) -> Trust:
        """The trust in a politeness key; that in a stranger where nothing is known."""
        ...

    async def save(self, key: str, trust: Trust) -> None: ...

    async def close(self) -> None: ...
