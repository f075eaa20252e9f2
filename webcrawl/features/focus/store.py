"""The store of the learned state of a focused crawl of one process: a file in the JOBDIR, which is always replaced as
a whole. The contract of such stores is ``LearnerStore`` in ``storage/shared_parts.py``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replace
from webcrawl.errors import JobdirUnusable
from webcrawl.features.focus.saved import Saved, unpack

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.features.focus.learner import Learner
    from webcrawl.storage.shared_parts import Learned


SAVE_SECONDS = 10.0
"""Interval at which the state is saved: a crash loses the changes since."""


class NoStore:
    """Store of a crawl that saves nothing."""

    async def begin(self, learner: Learned) -> bool:
        return False

    async def step(self, learner: Learned, now: float, *, last: bool = False) -> bool:
        learner.take_news()
        return False


NAME = "focus.model"


class LearnerFile:
    """A ``LearnerStore`` for a crawl of one process."""

    def __init__(self, folder: Path, focus: str) -> None:
        """``focus``: the focus of the crawl; a state learned for another focus is not loaded."""
        self._path = folder / NAME
        self._focus = focus
        self._saved_at: float | None = None
        self._learned = 0

    async def begin(self, learner: Learned) -> bool:
        try:
            saved = await asyncio.to_thread(read, self._path)
        except OSError as error:
            raise JobdirUnusable(f"{self._path}: {error.strerror}") from error
        if saved is None or saved.focus != self._focus:
            return False
        try:
            learner.restore(saved.pack())
        except ValueError:
            return False
        self._learned = learner.examples
        return True

    async def step(self, learner: Learned, now: float, *, last: bool = False) -> bool:
        learner.take_news()
        learned = learner.examples
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

    def _write(self, learner: Learned) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace(self._path, learner.pack(self._focus), sync=True)


def load(folder: Path) -> tuple[Learner, str] | None:
    """Return what the crawl in a folder has learned, and its focus; None if it has learned nothing.

    :raises JobdirUnusable: it cannot be read
    """
    # A store is imported where nothing is scored.
    from webcrawl.features.focus.learner import Learner

    path = folder / NAME
    try:
        if (saved := read(path)) is None:
            return None
        learner = Learner()
        learner.restore(saved.pack())
    except (OSError, ValueError) as error:
        raise JobdirUnusable(f"{path}: {error}") from error
    return learner, saved.focus


def read(path: Path) -> Saved | None:
    """Return the content of a file; None if there is none or it cannot be parsed. Raises OSError."""
    try:
        return unpack(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
