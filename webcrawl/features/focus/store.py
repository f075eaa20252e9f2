"""The contract of the places where what is learned is kept, so that it outlives a process and is shared.

What a learner knows, as bytes: a line of JSON about it, then its weights.

What is learned, in a file of the JOBDIR that is replaced as a whole.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from webcrawl.atomic_file import replace
from webcrawl.errors import JobdirUnusable
from webcrawl.features.focus.learner import Learner

if TYPE_CHECKING:
    from pathlib import Path


SAVE_SECONDS = 10.0
"""How much may be learned before it is kept: a crash forgets what was learned since."""


class LearnerStore(Protocol):
    """Every method may raise the errors of its storage, a CrawlError; then it is called again later, and nothing that
    was learned is lost. While it works nobody else learns.
    """

    async def begin(self, learner: Learner) -> bool:
        """Have the learner know what was learned before. Whether there was anything."""
        ...

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        """Keep what was learned, if it is time or the ``last`` time, and hear of others. ``now``: seconds by any
        clock. Whether anything came from others.
        """
        ...


class NoStore:
    """Of a crawl that leaves nothing behind."""

    async def begin(self, learner: Learner) -> bool:
        return False

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        learner.weights.take_news()
        return False


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


NAME = "focus.model"


class LearnerFile:
    """A ``LearnerStore`` of a crawl of one process."""

    def __init__(self, folder: Path, focus: str) -> None:
        """``focus``: what is looked for; what was learned of something else is not taken up."""
        self._path = folder / NAME
        self._focus = focus
        self._saved_at: float | None = None
        self._learned = 0

    async def begin(self, learner: Learner) -> bool:
        try:
            saved = await asyncio.to_thread(read, self._path)
        except OSError as error:
            raise JobdirUnusable(f"{self._path}: {error.strerror}") from error
        if saved is None or saved.focus != self._focus:
            return False
        try:
            saved.restore(learner)
        except ValueError:
            return False
        self._learned = learner.weights.learned
        return True

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        learner.weights.take_news()
        learned = learner.weights.learned
        if self._saved_at is None:
            self._saved_at = now
        if learned == self._learned or (not last and now - self._saved_at < SAVE_SECONDS):
            return False
        try:
            await asyncio.to_thread(self._write, learner)
        except OSError as error:
            raise JobdirUnusable(f"{self._path}: {error.strerror}") from error
        self._learned, self._saved_at = learned, now
        return False

    def _write(self, learner: Learner) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace(self._path, saved_of(learner, self._focus).pack(), sync=True)


def read(path: Path) -> Saved | None:
    """What a file holds; None where there is none, or one that cannot be read as such. Raises OSError."""
    try:
        return unpack(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
