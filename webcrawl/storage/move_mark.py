"""The mark of a move: where a crawl went, or where it comes from.

A move copies the state of a crawl to another place. The mark is there before the first thing that is copied, and it
is the last thing that is changed; by it both places say whether the crawl may go on there."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from uuid import uuid4

from webcrawl.errors import StartRefused


class MoveState(StrEnum):
    """The state of a move at one of its two places."""

    ARRIVING = "arriving"
    """The copy is not complete, or not proved: the crawl cannot go on here."""
    ARRIVED = "arrived"
    """The crawl came from another place, and goes on here."""
    MOVED = "moved"
    """The crawl went to another place, and cannot go on here."""


class CrawlMoved(StartRefused):
    """The crawl cannot go on here: it went to another place, or its move to here is not complete."""


@dataclass(frozen=True, slots=True)
class MoveMark:
    """A mark."""

    state: MoveState
    place: str
    """The other place, in words."""
    at: float
    """Epoch seconds."""
    move: str
    """The same random digits at both places."""

    @classmethod
    def begin(cls, source: str) -> MoveMark:
        """Return the mark of a place to which a crawl is copied from ``source``."""
        return cls(MoveState.ARRIVING, source, round(time.time(), 3), uuid4().hex)

    def arrived(self) -> MoveMark:
        return replace(self, state=MoveState.ARRIVED)

    def left(self, target: str) -> MoveMark:
        """Return the mark of the place that the crawl has left."""
        return replace(self, state=MoveState.MOVED, place=target)

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, packed: str) -> MoveMark:
        """:raises ValueError: it is no mark"""
        try:
            stored = json.loads(packed)
            return cls(
                MoveState(stored["state"]), str(stored["place"]), float(stored["at"]), str(stored["move"])
            )
        except (TypeError, KeyError) as error:
            raise ValueError(f"it has no {error}") from error

    def refuse(self, name: str) -> None:
        """Refuse to go on at a place; ``name``: the crawl there. :raises CrawlMoved:"""
        if self.state is MoveState.MOVED:
            day = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.at))
            raise CrawlMoved(f"{name} was moved on {day} and goes on as {self.place}; start it there")
        if self.state is MoveState.ARRIVING:
            raise CrawlMoved(
                f"{name} is not complete: it is being moved from {self.place}, or that was interrupted; give the "
                "same scrapy move again"
            )
