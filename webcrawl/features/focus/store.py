"""Stores of the learned state of a focused crawl, which survives a process and is shared: their contract, and a file
in the JOBDIR.

The state of a learner is a line of JSON about it, then its weights. The file is always replaced as a whole.
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
"""Interval at which the state is saved: a crash loses the changes since."""


class LearnerStore(Protocol):
    """Every method may raise the CrawlError of its storage; then it is called again later, and nothing that was
    learned is lost. While a method runs, nothing is learned."""

    async def begin(self, learner: Learner) -> bool:
        """Load the stored state into the learner. Return whether there was any."""
        ...

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        """Save the state, if it is time or the ``last`` step, and load changes of other workers. ``now``: seconds of
        any clock. Return whether anything came from others."""
        ...


class NoStore:
    """Store of a crawl that saves nothing."""

    async def begin(self, learner: Learner) -> bool:
        return False

    async def step(self, learner: Learner, now: float, *, last: bool = False) -> bool:
        learner.weights.take_news()
        return False


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

    def learner(self) -> Learner:
        """Return a learner with this state, for queries. :raises ValueError: it is damaged"""
        learner = Learner()
        self.restore(learner)
        return learner

    def restore(self, learner: Learner) -> None:
        """Load the state into a learner. :raises ValueError: it is damaged"""
        learner.weights.load(self.weights)
        learner.skill.area, learner.skill.is_believed = self.area, self.is_believed
        learner.learned()


def saved_of(learner: Learner, focus: str) -> Saved:
    """Return the current state of a learner."""
    return Saved(focus, learner.skill.area, learner.skill.is_believed, learner.weights.dump())


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


NAME = "focus.model"


class LearnerFile:
    """A ``LearnerStore`` for a crawl of one process."""

    def __init__(self, folder: Path, focus: str) -> None:
        """``focus``: the focus of the crawl; a state learned for another focus is not loaded."""
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
    """Return the content of a file; None if there is none or it cannot be parsed. Raises OSError."""
    try:
        return unpack(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
