"""What is learned, in a file of the JOBDIR that is replaced as a whole."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from webcrawl.errors import JobdirUnusable
from webcrawl.focus.saved import Saved, saved_of, unpack
from webcrawl.focus.store import SAVE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.focus.learner import Learner

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
        unfinished = self._path.with_name(NAME + ".part")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            file.write(saved_of(learner, self._focus).pack())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)


def read(path: Path) -> Saved | None:
    """What a file holds; None where there is none, or one that cannot be read as such. Raises OSError."""
    try:
        return unpack(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
