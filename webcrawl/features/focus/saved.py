"""The saved state of a learner: a line of JSON about it, then its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Saved:
    """Saved state of a learner. ``focus``: the focus for which it was learned."""

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


def unpack(packed: bytes) -> Saved:
    """Parse the result of ``pack``. :raises ValueError: it is anything else"""
    head, newline, weights = packed.partition(b"\n")
    about = json.loads(head)
    if not newline or not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError("it is of another format")
    area = about.get("area")
    return Saved(
        str(about.get("focus")), None if area is None else float(area), bool(about.get("believed")), weights
    )
