"""What a learner knows, as bytes: a line of JSON about it, then its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass

from webcrawl.focus.learner import Learner

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Saved:
    """``focus``: what was looked for when it was learned."""

    focus: str
    area: float | None
    is_believed: bool
    weights: bytes

    def pack(self) -> bytes:
        about = {
            "format": FORMAT,
            "focus": self.focus,
            "area": self.area,
            "believed": self.is_believed,
        }
        return json.dumps(about).encode() + b"\n" + self.weights

    def learner(self) -> Learner:
        """Somebody who knows it, to be asked. :raises ValueError: it is damaged"""
        learner = Learner()
        self.restore(learner)
        return learner

    def restore(self, learner: Learner) -> None:
        """Have a learner know it. :raises ValueError: it is damaged"""
        learner.weights.load(self.weights)
        learner.skill.area, learner.skill.is_believed = self.area, self.is_believed
        learner.learned()


def saved_of(learner: Learner, focus: str) -> Saved:
    """What a learner knows now."""
    return Saved(focus, learner.skill.area, learner.skill.is_believed, learner.weights.dump())


def unpack(packed: bytes) -> Saved:
    """:raises ValueError: it is nothing that ``pack`` has made"""
    head, newline, weights = packed.partition(b"\n")
    about = json.loads(head)
    if not newline or not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError("it is of another format")
    area = about.get("area")
    return Saved(
        str(about.get("focus")), None if area is None else float(area), bool(about.get("believed")), weights
    )
